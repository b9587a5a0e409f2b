// The data of the page: a header, every text once, arrays of whole numbers (crates/cg-viewer/src/data.rs writes them).

/**
 * @typedef {object} Data
 * @property {any} header
 * @property {(id: number) => string} text
 * @property {(name: string) => any[] | null} array
 */

/** The forms of an array, as flags. */
const SIGNED = 1, OPTIONAL = 2, RISING = 4, COUNT = 8;

/** Decompresses the block. @param {string} base64 @returns {Promise<Uint8Array>} */
const unpack = async (base64) => {
  const binary = atob(base64.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
};

/**
 * Reads numbers in LEB128. If a sum of the page exceeds what a double can represent exactly, all counts are big integers.
 * @param {Uint8Array} bytes @param {number} at @param {number} length @param {number} form @param {boolean} isBig
 * @returns {[any[], number]} the numbers, null for missing ones, and the position after them
 */
const readNumbers = (bytes, at, length, form, isBig) => {
  const numbers = new Array(length);
  const big = isBig && (form & COUNT) !== 0;
  let before = 0, exactBefore = 0n;
  for (let i = 0; i < length; i++) {
    let number = 0, factor = 1, byte, start = at;
    do {
      byte = bytes[at++];
      number += (byte & 127) * factor;
      factor *= 128;
    } while (byte > 127);
    if (form & OPTIONAL && number === 0) {
      numbers[i] = null;
      continue;
    }
    if (big || number > Number.MAX_SAFE_INTEGER) {
      let exact = 0n;
      for (let end = at - 1; end >= start; end--) exact = (exact << 7n) | BigInt(bytes[end] & 127);
      if (form & OPTIONAL) exact -= 1n;
      if (form & SIGNED) exact = exact & 1n ? -((exact + 1n) >> 1n) : exact >> 1n;
      if (big && form & RISING) exact = exactBefore += exact;
      if (big || !(form & COUNT)) {
        numbers[i] = exact;
        continue;
      }
      // A double can represent the number. Only its encoded form was too large.
      number = Number(exact);
      if (form & RISING) number = before += number;
      numbers[i] = number;
      continue;
    }
    if (form & OPTIONAL) number -= 1;
    if (form & SIGNED) number = number % 2 ? -(number + 1) / 2 : number / 2;
    if (form & RISING) number = before += number;
    numbers[i] = number;
  }
  return [numbers, at];
};

/** The starts of consecutive lists of these lengths, and the end of the last list. @param {number[]} lengths */
const startsOf = (lengths) => {
  const starts = [0];
  for (const length of lengths) starts.push(starts[starts.length - 1] + length);
  return starts;
};

/** Reads the result of `unpack`. Reads arrays on demand. @param {Uint8Array} bytes @returns {Data} */
const readData = (bytes) => {
  const decoder = new TextDecoder();
  const headerEnd = 4 + new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const header = JSON.parse(decoder.decode(bytes.subarray(4, headerEnd)));
  const texts = decoder.decode(bytes.subarray(headerEnd, headerEnd + header.texts)).split(header.separator);
  /** @type {Map<string, any>} */
  const places = new Map();
  let at = headerEnd + header.texts;
  // The start of an array depends on the arrays before it. Each number ends with a byte below 128.
  for (const [name, length, form] of header.arrays) {
    places.set(name, { at, length, form });
    for (let left = length; left > 0; at++) if (bytes[at] < 128) left--;
  }
  for (const [name, other] of header.aliases) places.set(name, places.get(other));
  const array = (name) => {
    const place = places.get(name);
    if (!place) return null;
    if (!place.numbers) [place.numbers] = readNumbers(bytes, place.at, place.length, place.form, header.big);
    return place.numbers;
  };
  return { header, array, text: (id) => texts[id] };
};
