// SPDX-License-Identifier: Apache-2.0
// Unpacks what the report carries packed: base64 and gzip (RFC 1952, RFC 1951), without asking the browser for
// DecompressionStream, which not every browser in use has.

const LENGTH_BASE = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
const LENGTH_EXTRA = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const DISTANCE_BASE = [1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577];
const DISTANCE_EXTRA = [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13];
const CODE_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

// A canonical Huffman code as a table: the next `bits` bits of the stream give symbol * 16 + length.
function huffmanTable(lengths) {
  const bits = Math.max(1, ...lengths);
  const table = new Uint32Array(1 << bits);
  let code = 0;
  for (let length = 1; length <= bits; length++) {
    for (let symbol = 0; symbol < lengths.length; symbol++) {
      if (lengths[symbol] !== length) continue;
      let reversed = 0;
      for (let bit = 0; bit < length; bit++) reversed |= ((code >> bit) & 1) << (length - 1 - bit);
      for (let at = reversed; at < table.length; at += 1 << length) table[at] = symbol * 16 + length;
      code++;
    }
    code <<= 1;
  }
  return { table, mask: table.length - 1 };
}

class BitReader {
  constructor(bytes, position) {
    this.bytes = bytes;
    this.position = position;
    this.hold = 0;
    this.count = 0;
  }
  fill(wanted) {
    while (this.count < wanted) {
      this.hold |= (this.bytes[this.position++] || 0) << this.count;
      this.count += 8;
    }
  }
  take(wanted) {
    if (wanted === 0) return 0;
    this.fill(wanted);
    const value = this.hold & ((1 << wanted) - 1);
    this.hold >>>= wanted;
    this.count -= wanted;
    return value;
  }
  symbol(huffman) {
    this.fill(15);
    const entry = huffman.table[this.hold & huffman.mask];
    if (entry === 0) throw new Error("the packed part of this page is damaged");
    this.hold >>>= entry & 15;
    this.count -= entry & 15;
    return entry >>> 4;
  }
}

function readDynamicTables(reader) {
  const literalCount = reader.take(5) + 257;
  const distanceCount = reader.take(5) + 1;
  const codeCount = reader.take(4) + 4;
  const codeLengths = new Array(19).fill(0);
  for (let at = 0; at < codeCount; at++) codeLengths[CODE_ORDER[at]] = reader.take(3);
  const codes = huffmanTable(codeLengths);
  const lengths = [];
  while (lengths.length < literalCount + distanceCount) {
    const symbol = reader.symbol(codes);
    if (symbol < 16) {
      lengths.push(symbol);
      continue;
    }
    const value = symbol === 16 ? lengths[lengths.length - 1] : 0;
    let repeat = symbol === 16 ? 3 + reader.take(2) : symbol === 17 ? 3 + reader.take(3) : 11 + reader.take(7);
    while (repeat-- > 0) lengths.push(value);
  }
  return { literals: huffmanTable(lengths.slice(0, literalCount)), distances: huffmanTable(lengths.slice(literalCount)) };
}

function fixedTables() {
  const lengths = [];
  for (let symbol = 0; symbol < 288; symbol++) lengths.push(symbol < 144 ? 8 : symbol < 256 ? 9 : symbol < 280 ? 7 : 8);
  return { literals: huffmanTable(lengths), distances: huffmanTable(new Array(30).fill(5)) };
}

function copyStored(reader, out, at) {
  reader.position -= reader.count >> 3;
  reader.hold = 0;
  reader.count = 0;
  const size = reader.bytes[reader.position] | (reader.bytes[reader.position + 1] << 8);
  out.set(reader.bytes.subarray(reader.position + 4, reader.position + 4 + size), at);
  reader.position += 4 + size;
  return at + size;
}

function copyCoded(reader, tables, out, at) {
  for (;;) {
    const symbol = reader.symbol(tables.literals);
    if (symbol < 256) {
      out[at++] = symbol;
      continue;
    }
    if (symbol === 256) return at;
    const length = LENGTH_BASE[symbol - 257] + reader.take(LENGTH_EXTRA[symbol - 257]);
    const code = reader.symbol(tables.distances);
    const from = at - DISTANCE_BASE[code] - reader.take(DISTANCE_EXTRA[code]);
    for (let step = 0; step < length; step++) out[at + step] = out[from + step];
    at += length;
  }
}

// Bytes of a gzip member -> the bytes that it packs.
function gunzip(bytes) {
  const flags = bytes[3];
  let position = 10;
  if (flags & 4) position += 2 + (bytes[position] | (bytes[position + 1] << 8));
  for (const flag of [8, 16]) {
    if (flags & flag) while (bytes[position++] !== 0);
  }
  if (flags & 2) position += 2;
  const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(bytes.length - 4, true);
  const out = new Uint8Array(size);
  const reader = new BitReader(bytes, position);
  let at = 0;
  for (let isLast = 0; !isLast;) {
    isLast = reader.take(1);
    const kind = reader.take(2);
    if (kind === 0) at = copyStored(reader, out, at);
    else at = copyCoded(reader, kind === 1 ? fixedTables() : readDynamicTables(reader), out, at);
  }
  if (at !== size) throw new Error("the packed part of this page is damaged");
  return out;
}

function textFromBase64Gzip(base64) {
  const packed = Uint8Array.from(atob(base64.trim()), (character) => character.charCodeAt(0));
  return new TextDecoder().decode(gunzip(packed));
}

export { gunzip, textFromBase64Gzip };
