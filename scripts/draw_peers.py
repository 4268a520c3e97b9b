#!/usr/bin/env python3
"""Draws the results of compare_peers.py: for each network blocktensor's time as a bar, the others' as marks, as ratios to the fastest other.

    python3 scripts/draw_peers.py b1.json b16.json -o docs/peers.svg

Contenders that were not counted are left out, as are networks without a fastest peer. Each file is a column.
"""

import argparse
import json
from html import escape
from pathlib import Path

NAMES = {
    "resnet50": "ResNet-50", "resnet18": "ResNet-18", "mobilenet_v2": "MobileNetV2", "mobilenet_v3_large": "MobileNetV3-L",
    "efficientnet_b0": "EfficientNet-B0", "densenet121": "DenseNet-121", "vgg16": "VGG-16", "regnet_y_400mf": "RegNet-Y-400MF",
    "convnext_tiny": "ConvNeXt-T", "unet": "U-Net", "yolo": "YOLO-like",
}  # fmt: skip
#: Mark and colour of each peer: told apart without colours too.
PEERS = {
    "ONNX Runtime": ("circle", "#b45f06"), "OpenVINO": ("square", "#6a329f"), "MNN small": ("up", "#38761d"),
    "MNN": ("up", "#93c47d"), "ncnn": ("down", "#990000"), "Inductor": ("diamond", "#444444"), "eager": ("cross", "#888888"),
}  # fmt: skip
LEFT, WIDTH, ROW, TOP, FAR = 120, 360, 22, 74, 2.0


def mark(kind, x, y, colour):
    r = 4
    shapes = {
        "circle": f'<circle cx="{x:.1f}" cy="{y}" r="{r}"/>',
        "square": f'<rect x="{x - r:.1f}" y="{y - r}" width="{2 * r}" height="{2 * r}"/>',
        "up": f'<path d="M{x - r:.1f} {y + r}h{2 * r}l-{r} -{2 * r}z"/>',
        "down": f'<path d="M{x - r:.1f} {y - r}h{2 * r}l-{r} {2 * r}z"/>',
        "diamond": f'<path d="M{x:.1f} {y - r}l{r} {r}l-{r} {r}l-{r} -{r}z"/>',
        "cross": f'<path d="M{x - r:.1f} {y - r}l{2 * r} {2 * r}m0 -{2 * r}l-{2 * r} {2 * r}"/>',
    }
    return f'<g fill="none" stroke="{colour}" stroke-width="1.6">{shapes[kind]}</g>'


def text(x, y, words, extra=""):
    return f'<text x="{x:.1f}" y="{y}" {extra}>{escape(words)}</text>'


def column(results, left):
    """One file's networks, with their names, as some may be missing in another."""
    batch = results["batch"]
    parts = [text(left, TOP - 14, f"batch {batch}", 'font-weight="bold"')]
    rows = [(name, r) for name, r in results["networks"].items() if r["best_peer"] and r["to_best_peer"]]
    scale = WIDTH / FAR
    for i, (name, result) in enumerate(rows):
        y = TOP + i * ROW + ROW // 2
        parts.append(text(left - 8, y + 4, NAMES.get(name, name), 'text-anchor="end"'))
        ratio = result["to_best_peer"]
        parts.append(f'<rect x="{left}" y="{y - 7}" width="{min(ratio, FAR) * scale:.1f}" height="14" fill="#9fc5e8"/>')
        parts.append(text(left + 4, y + 4, f"{ratio:.2f}"))
        best = result["contenders"][result["best_peer"]]["least_ms"]
        for peer, (kind, colour) in PEERS.items():
            report = result["contenders"].get(peer, {})
            if "least_ms" in report and "why" not in report and report["least_ms"] / best <= FAR:
                parts.append(mark(kind, left + report["least_ms"] / best * scale, y, colour))
    bottom = TOP + len(rows) * ROW
    parts.append(f'<path d="M{left + scale:.1f} {TOP - 4}V{bottom}" stroke="#000" stroke-dasharray="3 3" fill="none"/>')
    parts += [text(left + x * scale, bottom + 14, f"{x:g}", 'text-anchor="middle"') for x in (0, 0.5, 1, 1.5, 2)]
    return parts, bottom + 26


def picture(files):
    found = [json.loads(file.read_text()) for file in files]
    first = found[0]
    title = f"Time of one run: blocktensor (bars), others (marks); 1 is the fastest of the others. {first['cpu']}, {first['date'][:10]}"
    parts, x, height = [text(8, 18, title, 'font-weight="bold"')], 8, 0
    for peer in (peer for peer in PEERS if any(peer in r["contenders"] for f in found for r in f["networks"].values())):
        parts += [mark(PEERS[peer][0], x + 6, 37, PEERS[peer][1]), text(x + 16, 41, peer)]
        x += 34 + 7 * len(peer)
    left = LEFT
    for results in found:
        made, bottom = column(results, left)
        parts, height, left = parts + made, max(height, bottom), left + WIDTH + LEFT + 10
    width = left - LEFT + 8
    style = 'font-family="sans-serif" font-size="12"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" {style}>'
    return "\n".join([head, f'<rect width="{width}" height="{height}" fill="#fff"/>', *parts, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.output.write_text(picture(arguments.files))


if __name__ == "__main__":
    main()
