const named = new Map();

/** A name in the address for a widget that was given none: that of its class, numbered from the second on. */
function nameOf(id) {
  const kind = id.split(".").pop().replace(/\B[A-Z]/g, "-$&").toLowerCase(), count = (named.get(kind) ?? 0) + 1;
  named.set(kind, count);
  return count > 1 ? `${kind}-${count}` : kind;
}
