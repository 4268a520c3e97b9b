#!/usr/bin/env python3
"""Moves models of torchvision and timm with `blocktensor.torch`, and compares them with PyTorch.

    python scripts/python_models.py [--only NAME ...] [--times N]

Prints a line for each: the relative L2 error of the packed module, that of PyTorch's own f32 result (both against PyTorch in f64,
where the two differ by more than 1e-5), reorders of a run by plan and by ledger, steps, and whether `torch.utils.mkldnn` runs it.
Weights are random with a seed; norms get statistics that are not trivial. Exits with 1 if a model misses the bound.
"""

import argparse
import copy
import sys
import time

import blocktensor as bt
import blocktensor.torch as btt
import torch
from torch.utils import mkldnn

TORCHVISION = (
    "resnet18 resnet50 resnext50_32x4d wide_resnet50_2 mobilenet_v2 mobilenet_v3_small mobilenet_v3_large vgg11 vgg11_bn alexnet "
    "densenet121 squeezenet1_0 squeezenet1_1 googlenet inception_v3 shufflenet_v2_x0_5 shufflenet_v2_x1_0 mnasnet0_5 mnasnet1_0 "
    "regnet_x_400mf regnet_y_400mf efficientnet_b0 efficientnet_v2_s convnext_tiny vit_b_16 swin_t swin_v2_t maxvit_t"
).split()
TIMM = (
    "resnet26d mobilenetv4_conv_small repvgg_a0 ghostnet_100 hardcorenas_a tf_efficientnet_lite0 dla34 hrnet_w18_small "
    "cspresnet50 rexnet_100 convmixer_768_32 mixer_s32_224 deit_tiny_patch16_224 lcnet_050 edgenext_xx_small"
).split()


def as_trained(model: torch.nn.Module) -> torch.nn.Module:
    """Random statistics, as a trained model has other ones than 0 and 1, and no head of zeros, whose output would say nothing."""
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
        if isinstance(module, torch.nn.Linear) and not module.weight.any():
            torch.nn.init.normal_(module.weight, std=0.02)
    return model.eval()


def make(name: str) -> tuple[torch.nn.Module, torch.Tensor]:
    torch.manual_seed(24)
    if name in TORCHVISION:
        import torchvision

        options = {"init_weights": True} if name in ("googlenet", "inception_v3") else {}
        model = getattr(torchvision.models, name)(**options)
    else:
        import timm

        model = timm.create_model(name, pretrained=False)
    side = 299 if name == "inception_v3" else 256 if name == "swin_v2_t" else 224
    return as_trained(model), torch.randn(1, 3, side, side)


def error(y: torch.Tensor, wanted: torch.Tensor) -> float:
    return float((y.double() - wanted.double()).norm() / wanted.double().norm())


def runs_with_mkldnn(model: torch.nn.Module, x: torch.Tensor) -> str:
    try:
        with torch.no_grad():
            mkldnn.to_mkldnn(copy.deepcopy(model))(x.to_mkldnn()).to_dense()
        return "runs"
    except Exception as e:
        return type(e).__name__


def fastest(call, times: int) -> float:
    best = float("inf")
    for _ in range(times):
        began = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - began)
    return best * 1e3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="*", default=TORCHVISION + TIMM)
    parser.add_argument("--times", type=int, default=0, help="also measure: the fastest of N runs")
    options = parser.parse_args()
    failed, moved = [], 0
    for name in options.only:
        try:
            model, x = make(name)
            fast = btt.to_blocked(model, x)
        except Exception as e:
            print(f"{name:26} {type(e).__name__}: {str(e).splitlines()[0]}")
            for call, reason in dict.fromkeys((call, reason) for _, call, reason in getattr(e, "missing", [])):
                print(f"    {call}: {reason}")
            continue
        with torch.no_grad():
            wanted = model(x)
            with bt.record() as book:
                y = fast(x)
            ours, theirs = error(y, wanted), 0.0
            if ours > 1e-5:
                exact = copy.deepcopy(model).double()(x.double())
                ours, theirs = error(y, exact), error(wanted, exact)
        bound = 1e-5 if theirs == 0.0 else 1e-4
        moved += ours <= bound
        if ours > bound:
            failed.append(name)
        text = f"{name:26} error {ours:.1e}" + (f" (PyTorch's {theirs:.1e})" if theirs else "")
        text += f", reorders {len(fast.plan.reorders)} planned, {len(book)} recorded, {len(fast.plan.regions[0].plan.steps)} steps"
        text += f", to_mkldnn {runs_with_mkldnn(model, x)}"
        if options.times:
            with torch.no_grad():
                text += f", ms {fastest(lambda: fast(x), options.times):.1f}, eager {fastest(lambda: model(x), options.times):.1f}"
        print(text, flush=True)
    print(f"{moved} of {len(options.only)} models within the bound" + (f"; beyond it: {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
