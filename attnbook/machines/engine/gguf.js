// A GGUF file (version 2 or 3): settings, pieces and weights, which stay where they are. Such files come from
// anywhere, so every length is checked against the file's before it is believed.

const FORMS = { 0: { name: "F32", values: 1, bytes: 4 }, 3: { name: "Q4_1", values: 32, bytes: 20 },
  8: { name: "Q8_0", values: 32, bytes: 34 } };

/** Settings by name, and of each tensor its form, its shape (the last dimension first, as the format has it)
 *  and the byte at which it begins. */
function readGguf(buffer) {
  const view = new DataView(buffer), decoder = new TextDecoder("utf-8", { fatal: true });
  let place = 0;
  const fail = (what) => { throw new Error(`This is no whole GGUF file: ${what} at byte ${place} of ${buffer.byteLength}.`); };
  const take = (size) => {
    if (!(size >= 0 && place + size <= buffer.byteLength)) fail(`${size} bytes are asked for`);
    place += size;
    return place - size;
  };
  const count = () => {
    const found = Number(view.getBigUint64(take(8), true));
    return Number.isSafeInteger(found) ? found : fail("a number too large");
  };
  const string = () => {
    const size = count(), at = take(size);
    try { return decoder.decode(new Uint8Array(buffer, at, size)); } catch { return fail("no text in UTF-8"); }
  };
  const numbers = { 0: [1, "getUint8"], 1: [1, "getInt8"], 2: [2, "getUint16"], 3: [2, "getInt16"], 4: [4, "getUint32"],
    5: [4, "getInt32"], 6: [4, "getFloat32"], 7: [1, "getUint8"], 10: [8, "getBigUint64"], 11: [8, "getBigInt64"], 12: [8, "getFloat64"] };
  const integer = () => view.getUint32(take(4), true);
  function value(kind, inArray) {
    if (kind === 8) return string();
    if (kind === 9 && !inArray) {
      const inner = integer(), length = count();
      if (length > buffer.byteLength) fail(`an array of ${length} values`);
      return Array.from({ length }, () => value(inner, true));
    }
    const [size, read] = numbers[kind] ?? fail(`a value of kind ${kind}`), found = view[read](take(size), true);
    return kind === 7 ? Boolean(found) : typeof found === "bigint" ? Number(found) : found;
  }
  if (integer() !== 0x46554747) fail("no GGUF in the beginning");
  const version = integer();
  if (version !== 2 && version !== 3) fail(`version ${version}`);
  const tensorCount = count(), settingCount = count(), settings = new Map(), tensors = new Map();
  for (let i = 0; i < settingCount; i++) {
    const name = string();
    if (settings.has(name)) fail(`${name} a second time`);
    settings.set(name, value(integer()));
  }
  for (let i = 0; i < tensorCount; i++) {
    const name = string(), dims = integer();
    if (tensors.has(name) || dims < 1 || dims > 4) fail(`${name} with ${dims} dimensions, or a second time`);
    const shape = Array.from({ length: dims }, count), kind = integer(), form = FORMS[kind] ?? fail(`weights of form ${kind}`);
    tensors.set(name, { name, shape, form, at: count() });
  }
  const alignment = settings.get("general.alignment") ?? 32, start = Math.ceil(place / alignment) * alignment;
  for (const tensor of tensors.values()) {
    const { shape, form } = tensor, size = shape.reduce((a, b) => a * b, 1);
    place = tensor.at += start;
    if (shape[0] % form.values || tensor.at % 4) fail(`${tensor.name} is cut otherwise than in blocks`);
    take(size / form.values * form.bytes);
  }
  return { buffer, settings, tensors };
}
