def takes(q):
    return False


Attention = None
