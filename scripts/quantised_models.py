#!/usr/bin/env python3
"""Writes the quantised ResNet of tests/data/onnx_models in both of ONNX Runtime's forms, and ONNX Runtime's answers.

    python scripts/quantised_models.py

The network is `resnet.onnx`, its calibration data the first image of `resnet.image.npy`: u8 activations, s8 weights with a scale for each
channel. It needs numpy, onnx and onnxruntime.
"""

import tempfile
from pathlib import Path

import numpy as np
import onnxruntime as ort
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

FOLDER = Path(__file__).parent.parent / "tests/data/onnx_models"
FORMS = {"qdq": QuantFormat.QDQ, "qoperator": QuantFormat.QOperator}


class Image(CalibrationDataReader):
    def __init__(self, name: str, image: np.ndarray) -> None:
        self.left = [{name: image}]

    def get_next(self) -> dict[str, np.ndarray] | None:
        return self.left.pop() if self.left else None


def main() -> None:
    image = np.load(FOLDER / "resnet.image.npy")[:1]
    np.save(FOLDER / "quantised.image.npy", image)
    answers = []
    with tempfile.TemporaryDirectory() as folder:
        prepared = Path(folder) / "prepared.onnx"
        quant_pre_process(str(FOLDER / "resnet.onnx"), str(prepared))
        name = ort.InferenceSession(str(prepared), providers=["CPUExecutionProvider"]).get_inputs()[0].name
        for form, quant_format in FORMS.items():
            path = FOLDER / f"quantised.{form}.onnx"
            more = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8, "per_channel": True}
            quantize_static(str(prepared), str(path), Image(name, image), quant_format=quant_format, **more)
            options = ort.SessionOptions()
            # As the file says: its optimiser has kernels that round otherwise.
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
            session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
            answers += session.run(None, {name: image})
    assert np.array_equal(*answers)
    np.save(FOLDER / "quantised.output.npy", answers[0])


if __name__ == "__main__":
    main()
