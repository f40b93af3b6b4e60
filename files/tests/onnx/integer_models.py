"""Models whose values come from integers, such as sizes, positions, sums and counters, for files/tests/onnx/models.py.

In float16 integers above 2,048 lose their last digits, and those above 65,504 become infinite. A converted model must
make the same integers as before.
"""

import numpy as np
from onnx import numpy_helper, parser

random = np.random.default_rng(2)


def floats(*shape):
    return random.standard_normal(shape).astype(np.float32)


def parsed(opset, text, constants=(), head=""):
    """A model of a text, with initializers by their names."""
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}{head}]>\n{text}')
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in constants)
    return model


ROWS = """main ({0}[1,n] x) => ({0}[1,m] y, int64 rows) {{
    s = Shape(x)  n = Gather(s, one)  f = Cast <to = {1}> (n)  d = Div(f, hop)  c = Ceil(d)  rows = Cast <to = 7> (c)
    end = Unsqueeze(rows, zero)  y = Slice(x, zero, end, axis)
}}"""
INDEXES = [("one", np.int64(1)), ("zero", np.array([0])), ("axis", np.array([1]))]


def integer_models():
    """Models by name, each with the type that is converted and its inputs."""
    samples = floats(1, 160_000)
    yield "rows", "float", parsed(17, ROWS.format("float", 1), [*INDEXES, ("hop", np.float32(320))]), {"x": samples}
    yield "rows-of-doubles", "double", parsed(
        17, ROWS.format("double", 11), [*INDEXES, ("hop", np.float64(320))]
    ), {"x": samples.astype(np.float64)}
    # The divisor is a constant of a node, and is used on both sides.
    yield "shared", "float", parsed(
        17,
        """main (float[1,n] x) => (float[1,n] y, int64[1] rows) {
            s = Shape(x)  n = Gather(s, axis)  f = Cast <to = 1> (n)  c = Constant <value_float = 99991.0> ()
            k = Unsqueeze(c, zero)  d = Div(f, k)  e = Ceil(d)  rows = Cast <to = 7> (e)  z = Div(x, x)  m = Min(z, k)
            y = Add(m, x)
        }""",
        INDEXES,
    ), {"x": samples + 4}
    yield "positions", "float", parsed(
        17,
        """main (float[1,6,4] x, int64[1,6] ids) => (float[1,6,4] y) {
            f = Cast <to = 1> (ids)  p = Unsqueeze(f, last)  a = Mul(p, frequencies)  c = Cos(a)  y = Mul(x, c)
        }""",
        [("last", np.array([2])), ("frequencies", np.array([1, 0.5, 0.01, 0.001], np.float32))],
    ), {"x": floats(1, 6, 4), "ids": np.array([[0, 1, 2049, 4097, 70_001, 131_071]])}
    # As decoders do it: the product is one of a column and a row.
    yield "rotary", "float", parsed(
        17,
        """main (float[b,6,4] x, int64[b,6] ids) => (float[b,6,4] y) {
            s = Shape(ids)  b = Gather(s, zero)  e = Concat <axis = 0> (b, four, one)  t = Expand(frequencies, e)
            r = Unsqueeze(ids, axis)  f = Cast <to = 1> (r)  a = MatMul(t, f)  u = Transpose <perm = [0, 2, 1]> (a)
            i = Sin(u)  c = Cos(u)  v = Mul(x, c)  w = Mul(x, i)  y = Add(v, w)
        }""",
        [
            *INDEXES[1:],
            ("one", np.array([1])),
            ("four", np.array([4])),
            ("frequencies", np.array([[[1], [0.5], [0.01], [0.001]]], np.float32)),
        ],
    ), {"x": floats(2, 6, 4), "ids": np.array([[0, 1, 2049, 4097, 70_001, 131_071]] * 2)}
    yield "accumulators", "float", parsed(
        17,
        """main (float[3,512] x) => (float[3,8] y) {
            q, s, z = DynamicQuantizeLinear(x)  a = MatMulInteger(q, w, z)  f = Cast <to = 1> (a)  t = Mul(s, scale)
            m = Mul(f, t)  h = Add(m, bias)  r = Relu(h)  y = Sub(r, bias)
        }""",
        [
            ("w", random.integers(60, 128, (512, 8)).astype(np.int8)),
            ("scale", np.float32(1e-4)),
            ("bias", floats(8)),
        ],
    ), {"x": np.abs(floats(3, 512))}
    yield "accumulators-of-convolutions", "float", parsed(
        17,
        """main (float[1,64,6,6] x) => (float[1,4,4,4] y) {
            q, s, z = DynamicQuantizeLinear(x)  a = ConvInteger(q, w, z)  f = Cast <to = 1> (a)  m = Mul(f, scale)
            n = Mul(m, s)  y = Neg(n)
        }""",
        [("w", random.integers(60, 128, (4, 64, 3, 3)).astype(np.int8)), ("scale", np.float32(1e-4))],
    ), {"x": np.abs(floats(1, 64, 6, 6))}
    for opset in 17, 27:
        yield f"range-{opset}", "float", parsed(
            opset,
            """main (float[n] x) => (float[k] y, int64[k] steps) {
                s = Shape(x)  n = Squeeze(s)  f = Cast <to = 1> (n)  r = Range(start, f, step)  h = Floor(r)
                steps = Cast <to = 7> (h)  y = Gather(x, steps)
            }""",
            [("start", np.float32(0.5)), ("step", np.float32(333.25))],
        ), {"x": floats(20_000)}
    yield "counts", "float", parsed(
        17,
        """main (float[1,n] x, float b) => (float[1,n] y, int64[1,1] n) {
            g = Greater(x, b)  o = Where(g, ones, zeros)  c = ReduceSum(o, axis)  n = Cast <to = 7> (c)  y = Mul(x, o)
        }""",
        [("axis", np.array([1])), ("ones", np.float32(1)), ("zeros", np.float32(0))],
    ), {"x": random.integers(-9, 9, (1, 9001)).astype(np.float32), "b": np.float32(-8)}
    yield "counter", "float", parsed(
        17,
        """main (float[2] x, int64 n, bool c, int64 s) => (float[2] y, int64 e, int64[k] all) {
            b = Cast <to = 1> (s)
            y, f, all = Loop (n, c, x, b) <
                body = body (int64 i, bool go, float[2] v, float p) =>
                    (bool again, float[2] next, float after, int64 out) <float large = {1024.0}> {
                    again = Identity(go)  after = Add(p, large)  out = Cast <to = 7> (p)  g = Cast <to = 1> (i)
                    h = Add(v, g)  next = Neg(h)
                }
            >
            e = Cast <to = 7> (f)
        }""",
    ), {"x": floats(2), "n": np.array(9), "c": np.array(True), "s": np.array(70_001)}
    # Each turn hands what it carries to the next state, so that all become activations one after the other.
    states = 12
    names = range(1, states)
    yield "chain", "float", parsed(
        17,
        f"""main (float[2] x, int64 n, bool c, int64[2] s) => ({", ".join(f"float[2] y{k}" for k in range(states))}) {{
            b = Cast <to = 1> (s)
            {", ".join(f"y{k}" for k in range(states))} = Loop (n, c, x{", b" * (states - 1)}) <
                body = body (int64 i, bool go, {", ".join(f"float[2] v{k}" for k in range(states))}) =>
                    (bool again, float[2] x0, {", ".join(f"float[2] w{k}" for k in names)}) {{
                    again = Identity(go)  x0 = Neg(v0)  {"  ".join(f"w{k} = Neg(v{k - 1})" for k in names)}
                }}
            >
        }}""",
    ), {"x": floats(2), "n": np.array(20), "c": np.array(True), "s": np.array([3, 4])}
    yield "choice", "float", parsed(
        17,
        """main (float[1,n] x) => (float[1,m] y, int64[1] end) {
            s = Shape(x)  n = Gather(s, axis)  c = Greater(n, axis)  g = Squeeze(c)
            f = If (g) <
                then_branch = some () => (float[1] a) { t = Cast <to = 1> (n)  a = Mul(t, half) },
                else_branch = none () => (float[1] b) { b = Constant <value = float[1] {7001.0}> () }
            >
            end = Cast <to = 7> (f)  y = Slice(x, zero, end, axis)
        }""",
        [*INDEXES, ("half", np.float32(0.5))],
    ), {"x": samples}
    yield "sums", "float", parsed(
        17,
        """main (float[4,3] x, int64[4] k) => (float[4,3] y, int64[4] sums) {
            f = Cast <to = 1> (k)
            last, y, all = Scan <num_scan_inputs = 2,
                body = body (float p, float[3] a, float b) => (float q, float[3] c, float d) {
                    q = Add(p, b)  d = Identity(q)  c = Neg(a)
                }
            > (zero, x, f)
            sums = Cast <to = 7> (all)
        }""",
        [("zero", np.float32(0))],
    ), {"x": floats(4, 3), "k": np.array([2049, 4097, 70_001, 3])}
    yield "function-of-sizes", "float", parsed(
        17,
        """main (float[1,n] x) => (float[1,m] y, int64[1] rows) {
            s = Shape(x)  n = Gather(s, axis)  f = Cast <to = 1> (n)  d = own.rows(f)  rows = Cast <to = 7> (d)
            y = Slice(x, zero, rows, axis)
        }
        <domain: "own", opset_import: ["" : 17]>
        rows (v) => (u) { hop = Constant <value_float = 320.0> ()  d = Div(v, hop)  u = Ceil(d) }""",
        INDEXES,
        ', "own" : 1',
    ), {"x": samples}
    yield "image", "float", parsed(
        17,
        """main (uint8[1,3,8,8] x) => (float[1,4,6,6] y) {
            f = Cast <to = 1> (x)  d = Div(f, most)  t = Conv(d, w)  r = Relu(t)  y = Mul(r, half)
        }""",
        [("most", np.float32(255)), ("w", floats(4, 3, 3, 3)), ("half", np.float32(0.5))],
    ), {"x": random.integers(0, 256, (1, 3, 8, 8)).astype(np.uint8)}
