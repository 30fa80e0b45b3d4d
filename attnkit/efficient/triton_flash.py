def takes(*inputs):
    return False


Attention = None
