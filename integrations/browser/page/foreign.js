// Files that have the name of a format and are something else.

const PAGE = /^\s*<(!doctype\s+html|html)/i;

/**
 * What a file is instead, and what to do, by its first bytes.
 * @param {Uint8Array} bytes
 * @returns {string | undefined}
 */
export function foreign(bytes) {
  const text = String.fromCharCode(...bytes);
  if (text.startsWith('version https://git-lfs')) {
    return 'this is a pointer of Git LFS, not the file itself: fetch the file by git lfs pull';
  }
  if (PAGE.test(text)) return 'this is a web page, not a file of tensors: download the file itself';
  if (text.startsWith('PK\x03\x04')) {
    return 'this is a zip archive, as PyTorch and numpy write: save its tensors as .safetensors or .npy';
  }
  if (text.startsWith('\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19')) {
    return 'this is a checkpoint of PyTorch: save its tensors as .safetensors';
  }
  if (text.startsWith('GGUF')) return 'this is a GGUF file, which is not read here';
  return undefined;
}
