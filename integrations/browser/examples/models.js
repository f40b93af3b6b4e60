// Small ONNX models, written here so that the example needs no file.

const varint = (value) => (value < 128 ? [value] : [(value & 127) | 128, ...varint(Math.floor(value / 128))]);
const number = (field, value) => [...varint(field << 3), ...varint(value)];
const bytes = (field, content) => [...varint((field << 3) | 2), ...varint(content.length), ...content];
const text = (field, value) => bytes(field, [...new TextEncoder().encode(value)]);

const [FLOAT, FLOAT16, INT] = [1, 10, 2];

const tensor = (name, type, length) => [
  ...text(1, name), ...bytes(2, bytes(1, [...number(1, type), ...bytes(2, bytes(1, number(1, length)))])),
];
const node = (operator, inputs, output, attributes = []) => [
  ...inputs.flatMap((name) => text(1, name)), ...text(2, output), ...text(4, operator), ...attributes,
];
const castTo = (input, output, type) => (
  node('Cast', [input], output, bytes(5, [...text(1, 'to'), ...number(3, type), ...number(20, INT)]))
);

function model(nodes, input, output) {
  const graph = [...nodes.flatMap((each) => bytes(1, each)), ...text(2, 'graph'), ...bytes(11, input), ...bytes(12, output)];
  return Uint8Array.from([...number(1, 8), ...bytes(7, graph), ...bytes(8, number(2, 17))]);
}

/** y = float16(x * x), which needs a device with `shader-f16`. */
export function square(length) {
  const nodes = [node('Mul', ['x', 'x'], 'product'), castTo('product', 'y', FLOAT16)];
  return model(nodes, tensor('x', FLOAT, length), tensor('y', FLOAT16, length));
}

/** y = x in float16, for devices that cannot compute with it. */
export function same(length) {
  return model([node('Identity', ['x'], 'y')], tensor('x', FLOAT16, length), tensor('y', FLOAT16, length));
}
