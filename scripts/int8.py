#!/usr/bin/env python3
"""Quantises networks of torchvision with ONNX Runtime's static quantiser, and compares plans of them with ONNX Runtime and OpenVINO.

    python scripts/int8.py --binary target/release/blocktensor resnet18 resnet50 mobilenet_v2 mobilenet_v3_large
    python scripts/int8.py --binary ... --threads 2 --batch 16 --rounds 5 resnet50
    python scripts/int8.py --binary ... --format QOperator resnet18 mobilenet_v2

Weights are random; the statistics of batch norms are those of a forward pass, so that activations have a scale (the seed is printed).
Errors are relative L2 norms: of each int8 result beside ONNX Runtime's f32 result, and of ours beside ONNX Runtime's int8 result.
`--format` is that of the quantiser: QDQ, or ops on integers (QLinearConv, and QLinearAdd, QGemm ... of com.microsoft).
Times are least ones, each way a process by itself, by turns; the peers are loaded as in compare_peers.py. It needs torch, torchvision, onnx,
onnxruntime and numpy. OpenVINO takes part if it is installed.
"""

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

SEED = 1
#: Runs one model in another runtime, in a process of its own: its threads spin.
RUN = """
import sys, numpy as np, compare_peers
peer, model, threads, x, y = sys.argv[1:]
compare_peers.THREADS, x = int(threads), np.load(x)
run = compare_peers.PEERS[peer][1](model, x)
np.save(y, run(x))
print(compare_peers.turn(lambda: run(x), 1.0))
"""


def export(name: str, folder: Path, batch: int, form: str) -> None:
    """Writes NAME.onnx, NAME_int8.onnx and x.npy."""
    import torch
    import torchvision
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    torch.manual_seed(SEED)
    model = getattr(torchvision.models, name)(weights=None).train()
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = 1.0
    with torch.no_grad():
        model(torch.randn(8, 3, 224, 224))
    x = torch.randn(batch, 3, 224, 224)
    plain, prepared = str(folder / f"{name}.onnx"), str(folder / f"{name}_prepared.onnx")
    names = {"input_names": ["x"], "output_names": ["y"]}
    torch.onnx.export(model.eval(), (x,), plain, opset_version=13, dynamo=False, **names)
    quant_pre_process(plain, prepared, skip_symbolic_shape=True)

    class Reader(CalibrationDataReader):
        def __init__(self) -> None:
            self.left = 4

        def get_next(self) -> dict | None:
            self.left -= 1
            return {"x": torch.randn(batch, 3, 224, 224).numpy()} if self.left >= 0 else None

    of = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8, "per_channel": True}
    quantize_static(prepared, str(folder / f"{name}_int8.onnx"), Reader(), quant_format=QuantFormat[form], **of)
    np.save(folder / "x.npy", x.numpy())


def theirs(peer: str, model: Path, threads: int, folder: Path) -> tuple[float, np.ndarray]:
    call = [sys.executable, "-c", RUN, peer, str(model), str(threads), str(folder / "x.npy"), str(folder / "y.npy")]
    done = subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent)
    return float(done.stdout.split()[-1]), np.load(folder / "y.npy")


def ours(binary: str, model: Path, threads: int) -> float:
    call = [binary, "bench", str(model), "--threads", str(threads), "--runs", "30", "--json"]
    done = subprocess.run(call, check=True, capture_output=True, text=True)
    return min(plan["least_ms"] for plan in json.loads(done.stdout)["plans"])


def apart(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.linalg.norm(a - b) / np.linalg.norm(b))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--binary", required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--format", choices=("QDQ", "QOperator"), default="QDQ")
    args = parser.parse_args()
    peers = ["ONNX Runtime", *(["OpenVINO"] if importlib.util.find_spec("openvino") else [])]
    print(f"seed {SEED}, batch {args.batch}, {args.threads} thread(s), {args.format}; times in ms, the least of {args.rounds} rounds by turns")
    for name in args.names:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            export(name, folder, args.batch, args.format)
            f32, int8 = folder / f"{name}.onnx", folder / f"{name}_int8.onnx"
            times: dict[str, list[float]] = {}
            results: dict[str, np.ndarray] = {}
            for _ in range(args.rounds):
                for peer in peers:
                    for way, model in ((f"{peer} f32", f32), (f"{peer} int8", int8)):
                        took, results[way] = theirs(peer, model, args.threads, folder)
                        times.setdefault(way, []).append(took)
                for way, model in (("f32", f32), ("int8", int8)):
                    times.setdefault(way, []).append(ours(args.binary, model, args.threads))
            save = ["--input", str(folder / "x.npy"), "--save", str(folder / "own.npy")]
            subprocess.run([args.binary, "run", str(int8), *save], check=True, capture_output=True)
            exact, beside = results["ONNX Runtime f32"], results["ONNX Runtime int8"]
            results["int8"] = np.load(folder / "own.npy").reshape(exact.shape)
            least = {way: min(all_) for way, all_ in times.items()}
            shown = ", ".join(f"{way} {took:.2f}" for way, took in least.items())
            beside_others = ["f32", *(f"{peer} int8" for peer in peers)]
            ratios = ", ".join(f"int8 / {way} {least['int8'] / least[way]:.2f}" for way in beside_others)
            print(f"{name}: {shown}; {ratios}")
            errors = ", ".join(f"{way} {apart(result, exact):.5f}" for way, result in results.items() if way.endswith("int8"))
            print(f"  from ONNX Runtime f32: {errors}; int8 from ONNX Runtime int8 {apart(results['int8'], beside):.6f}")


if __name__ == "__main__":
    main()
