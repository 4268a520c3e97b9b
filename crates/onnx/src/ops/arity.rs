//! How many inputs and outputs ONNX's ops have at most, in any operator set from 11 on.
//!
//! From the Python package onnx: `onnx.defs.get_all_schemas_with_history()`. Ops with any number of inputs (or outputs) have
//! `ANY` there. A node with more of them than its op knows would have some of them ignored.

const ANY: usize = usize::MAX;

/// The most inputs and outputs of an op.
pub(crate) fn most(op: &str) -> (usize, usize) {
    let found = ARITIES.binary_search_by(|(name, ..)| (*name).cmp(op));
    found.map_or((ANY, ANY), |i| (ARITIES[i].1, ARITIES[i].2))
}

/// Name, inputs, outputs, by name.
const ARITIES: &[(&str, usize, usize)] = &[
    ("Abs", 1, 1),
    ("Add", 2, 1),
    ("And", 2, 1),
    ("ArgMax", 1, 1),
    ("ArgMin", 1, 1),
    ("AveragePool", 1, 1),
    ("BatchNormalization", 5, 5),
    ("Cast", 1, 1),
    ("CastLike", 2, 1),
    ("Ceil", 1, 1),
    ("Celu", 1, 1),
    ("Clip", 3, 1),
    ("Concat", ANY, 1),
    ("Constant", 0, 1),
    ("ConstantOfShape", 1, 1),
    ("Conv", 3, 1),
    ("ConvTranspose", 3, 1),
    ("Cos", 1, 1),
    ("CumSum", 2, 1),
    ("DepthToSpace", 1, 1),
    ("Div", 2, 1),
    ("Dropout", 3, 2),
    ("Einsum", ANY, 1),
    ("Elu", 1, 1),
    ("Equal", 2, 1),
    ("Erf", 1, 1),
    ("Exp", 1, 1),
    ("Expand", 2, 1),
    ("EyeLike", 1, 1),
    ("Flatten", 1, 1),
    ("Floor", 1, 1),
    ("Gather", 2, 1),
    ("GatherElements", 2, 1),
    ("GatherND", 2, 1),
    ("Gelu", 1, 1),
    ("Gemm", 3, 1),
    ("GlobalAveragePool", 1, 1),
    ("GlobalLpPool", 1, 1),
    ("GlobalMaxPool", 1, 1),
    ("Greater", 2, 1),
    ("GreaterOrEqual", 2, 1),
    ("GridSample", 2, 1),
    ("GroupNormalization", 3, 1),
    ("HardSigmoid", 1, 1),
    ("HardSwish", 1, 1),
    ("Hardmax", 1, 1),
    ("Identity", 1, 1),
    ("If", 1, ANY),
    ("InstanceNormalization", 3, 1),
    ("IsInf", 1, 1),
    ("IsNaN", 1, 1),
    ("LRN", 1, 1),
    ("LayerNormalization", 3, 3),
    ("LeakyRelu", 1, 1),
    ("Less", 2, 1),
    ("LessOrEqual", 2, 1),
    ("Log", 1, 1),
    ("LogSoftmax", 1, 1),
    ("Loop", ANY, ANY),
    ("LpNormalization", 1, 1),
    ("LpPool", 1, 1),
    ("MatMul", 2, 1),
    ("Max", ANY, 1),
    ("MaxPool", 1, 2),
    ("Mean", ANY, 1),
    ("MeanVarianceNormalization", 1, 1),
    ("Min", ANY, 1),
    ("Mish", 1, 1),
    ("Mod", 2, 1),
    ("Mul", 2, 1),
    ("Neg", 1, 1),
    ("NonZero", 1, 1),
    ("Not", 1, 1),
    ("Or", 2, 1),
    ("PRelu", 2, 1),
    ("Pad", 4, 1),
    ("Pow", 2, 1),
    ("RMSNormalization", 2, 1),
    ("Range", 3, 1),
    ("Reciprocal", 1, 1),
    ("ReduceL1", 2, 1),
    ("ReduceL2", 2, 1),
    ("ReduceLogSum", 2, 1),
    ("ReduceLogSumExp", 2, 1),
    ("ReduceMax", 2, 1),
    ("ReduceMean", 2, 1),
    ("ReduceMin", 2, 1),
    ("ReduceProd", 2, 1),
    ("ReduceSum", 2, 1),
    ("ReduceSumSquare", 2, 1),
    ("Relu", 1, 1),
    ("Reshape", 2, 1),
    ("Resize", 4, 1),
    ("RoiAlign", 3, 1),
    ("Round", 1, 1),
    ("ScatterElements", 3, 1),
    ("ScatterND", 3, 1),
    ("Selu", 1, 1),
    ("Shape", 1, 1),
    ("Shrink", 1, 1),
    ("Sigmoid", 1, 1),
    ("Sign", 1, 1),
    ("Sin", 1, 1),
    ("Size", 1, 1),
    ("Slice", 5, 1),
    ("Softmax", 1, 1),
    ("Softplus", 1, 1),
    ("Softsign", 1, 1),
    ("SpaceToDepth", 1, 1),
    ("Split", 2, ANY),
    ("Sqrt", 1, 1),
    ("Squeeze", 2, 1),
    ("Sub", 2, 1),
    ("Sum", ANY, 1),
    ("Swish", 1, 1),
    ("Tanh", 1, 1),
    ("ThresholdedRelu", 1, 1),
    ("Tile", 2, 1),
    ("TopK", 2, 2),
    ("Transpose", 1, 1),
    ("Unsqueeze", 2, 1),
    ("Upsample", 2, 1),
    ("Where", 3, 1),
    ("Xor", 2, 1),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order_and_every_op_has_a_row() {
        assert!(ARITIES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!((most("Conv"), most("Concat"), most("TopK")), ((3, 1), (ANY, 1), (2, 2)));
        for op in super::super::all() {
            assert!(ARITIES.iter().any(|(name, ..)| *name == op), "{op}");
        }
    }
}
