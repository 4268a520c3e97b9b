"""Small random graphs of PyTorch's modules, functions, methods and operators, as source."""

import random

import torch
from torch import nn
from torch.nn import functional as F

# The ranks that a step is for, and its source. `x` is the value so far, `w` the input. In braces: sizes, axes and numbers of the
# graph (`_numbers`). A step that starts with `nn.` is a module.
STEPS = {
    "module": [
        (4, "nn.Conv2d({C}, {o}, 3, padding=1)"),
        (4, "nn.Conv2d({C}, {o}, 1, bias=False)"),
        (4, "nn.Conv2d({C}, {o}, 3, stride=2, padding=1)"),
        (4, "nn.Conv2d({C}, {C}, 3, padding='same', groups={C})"),
        (4, "nn.Conv2d({C}, {o}, 3, padding=1, padding_mode='reflect')"),
        (4, "nn.ConvTranspose2d({C}, {o}, 2, stride=2)"),
        (4, "nn.BatchNorm2d({C})"),
        (4, "nn.GroupNorm(1, {C})"),
        (4, "nn.InstanceNorm2d({C})"),
        (4, "nn.MaxPool2d(2, ceil_mode=True)"),
        (4, "nn.MaxPool2d(3, stride=1, padding=1)"),
        (4, "nn.AvgPool2d(2, stride=1)"),
        (4, "nn.AdaptiveAvgPool2d((2, None))"),
        (4, "nn.AdaptiveMaxPool2d(2)"),
        (4, "nn.Upsample(scale_factor=2, mode='bilinear')"),
        (4, "nn.Upsample(scale_factor=2)"),
        (4, "nn.ZeroPad2d(1)"),
        (4, "nn.ReflectionPad2d(1)"),
        (4, "nn.Dropout2d(0.3)"),
        (4, "nn.PReLU({C})"),
        (4, "nn.LocalResponseNorm(3)"),
        (3, "nn.Conv1d({C}, {o}, 3, padding=1)"),
        (0, "nn.Linear({L}, {o})"),
        (0, "nn.LayerNorm({L})"),
        (0, "nn.ReLU()"),
        (0, "nn.ReLU6()"),
        (0, "nn.GELU()"),
        (0, "nn.GELU(approximate='tanh')"),
        (0, "nn.SiLU()"),
        (0, "nn.Hardswish()"),
        (0, "nn.Hardtanh(-0.5, 0.7)"),
        (0, "nn.LeakyReLU(0.2)"),
        (0, "nn.ELU(0.8)"),
        (0, "nn.CELU()"),
        (0, "nn.SELU()"),
        (0, "nn.Softplus()"),
        (0, "nn.Softsign()"),
        (0, "nn.Tanhshrink()"),
        (0, "nn.Softmax(dim={a})"),
        (0, "nn.LogSoftmax(dim={a})"),
        (0, "nn.Dropout(0.5)"),
        (0, "nn.Identity()"),
        (0, "nn.Flatten()"),
    ],
    "function": [
        (4, "F.pad(x, (1, 0, 2, 1))"),
        (4, "F.pad(x, (1, 1, 1, 1), mode='reflect')"),
        (4, "F.pad(x, (1, 1), value={s})"),
        (4, "F.interpolate(x, scale_factor=2, mode='nearest')"),
        (4, "F.interpolate(x, size=({o}, 5), mode='bilinear', align_corners=False)"),
        (4, "F.interpolate(x, size=6)"),
        (4, "F.max_pool2d(x, 2, 1)"),
        (4, "F.avg_pool2d(x, 3, 1, 1, count_include_pad=False)"),
        (4, "F.adaptive_avg_pool2d(x, 1)"),
        (4, "F.conv2d(x, torch.full(({o}, {C}, 1, 1), {s}))"),
        (4, "F.conv2d(x, torch.full(({C}, 1, 3, 3), {s}), padding=1, groups={C})"),
        (4, "F.batch_norm(x, torch.full(({C},), 0.1), torch.full(({C},), 1.5))"),
        (4, "F.instance_norm(x)"),
        (4, "F.pixel_unshuffle(x[..., : x.size(2) // 2 * 2, : x.size(3) // 2 * 2], 2)"),
        (0, "F.softmax(x, dim={a}, _stacklevel=5)"),
        (0, "F.log_softmax(x, {a}, dtype=torch.float32)"),
        (0, "F.relu(x, inplace=False)"),
        (0, "F.leaky_relu(x, negative_slope=0.1)"),
        (0, "F.dropout(x, 0.2, training=False)"),
        (0, "F.linear(x, torch.full(({o}, {L}), {s}))"),
        (0, "F.layer_norm(x, x.shape[-1:])"),
        (0, "F.normalize(x, dim={a})"),
        (0, "F.glu(torch.cat([x, x], {a}), dim={a})"),
        (0, "F.hardtanh(x, -{s}, {s})"),
        (0, "F.threshold(x, {s}, 0.25)"),
        (0, "torch.cat([x, x], dim={a})"),
        (0, "torch.cat((x, x * {s}), {a})"),
        (0, "torch.stack([x, -x], {a}).sum({a})"),
        (0, "torch.clamp(x, min=-{s}, max={s})"),
        (0, "torch.where(x > {s}, x, x * 0.5)"),
        (0, "torch.maximum(x, x * {s})"),
        (0, "torch.add(x, x, alpha={s})"),
        (0, "torch.mean(x, dim={a}, keepdim=True) + x"),
        (0, "torch.flatten(x, 1)"),
        (0, "torch.split(x, [1, {n} - 1], dim={a})[1]"),
        (0, "torch.chunk(x, 2, {a})[0]"),
        (0, "torch.roll(x, 1, {a})"),
        (0, "torch.flip(x, [{a}])"),
        (0, "torch.sigmoid(x) * torch.tanh(x)"),
        (0, "torch.lerp(x, x * 2, {s})"),
        (0, "torch.addcmul(x, x, x, value={s})"),
        (0, "torch.sqrt(torch.abs(x) + 1)"),
        (0, "torch.matmul(x, x.transpose(-1, -2))"),
        (0, "torch.cumsum(x, {a})"),
        (0, "torch.topk(x, 1, dim={a})[0]"),
        (0, "torch.rsub(x, {s})"),
    ],
    "method": [
        (4, "x.permute(0, 2, 3, 1)"),
        (4, "x.permute(0, 3, 1, 2).contiguous()"),
        (4, "x.mean((2, 3))"),
        (4, "x.mean([2, 3], keepdim=True) * x"),
        (4, "x.flatten(2).transpose(1, 2)"),
        (4, "x.view(x.size(0), -1)"),
        (4, "x.amax(dim=(2, 3), keepdim=True) - x"),
        (3, "x.unsqueeze(-1)"),
        (2, "x.unsqueeze(1).expand(-1, 3, -1)"),
        (0, "x.clamp(max={s})"),
        (0, "x.clamp(min=-{s})"),
        (0, "x.clamp_min(-{s})"),
        (0, "x.softmax({a})"),
        (0, "x.reshape(x.shape[0], -1)"),
        (0, "x.transpose(0, {a})"),
        (0, "x.unsqueeze(0).squeeze(0)"),
        (0, "x.sum({a}, keepdim=True) / {n}"),
        (0, "x.var({a}, keepdim=True, unbiased=False) + x"),
        (0, "x.std(dim={a}, keepdim=True) + x if {n} > 1 else x"),
        (0, "x.max({a}, keepdim=True)[0] - x"),
        (0, "x.pow(2)"),
        (0, "x.abs().add(1).log()"),
        (0, "x.neg().exp().clamp(max=4)"),
        (0, "x.sub({s}).mul({s})"),
        (0, "x.div({s})"),
        (0, "x.repeat(*[1] * (x.dim() - 1), 2)"),
        (0, "x.narrow({a}, 0, {h})"),
        (0, "x.select({a}, {i}).unsqueeze({a})"),
        (0, "x.split({h}, dim={a})[0]"),
        (0, "x.flip({a})"),
        (0, "x.masked_fill(x < 0, {s})"),
        (0, "x.to(torch.float32).float().cpu()"),
        (0, "x.type_as(w)"),
        (0, "x.detach().clone()"),
        (0, "x.clone().relu_().add_({s})"),
        (0, "x.clone().mul_({s}).clamp_(-1, 1)"),
        (0, "x.movedim(0, {a})"),
        (0, "x.sign() * x"),
        (0, "x.square().mean({a}, True).add(1e-3).rsqrt() * x"),
    ],
    "operator": [
        (0, "1 - x"),
        (0, "{s} - x"),
        (0, "x - {s}"),
        (0, "-x"),
        (0, "abs(x)"),
        (0, "x + x"),
        (0, "{s} * x + 1"),
        (0, "x / {s}"),
        (0, "1 / (x * x + 1)"),
        (0, "x ** 2"),
        (0, "x[0][None]"),
        (0, "x[..., None].squeeze(-1)"),
        (0, "x[:, : {c}]"),
        (0, "x[..., ::2]"),
        (0, "x[:, [0, -1]]"),
        (0, "x[-1:]"),
        (0, "(x == 0).float() + x"),
        (0, "(x > {s}) * x"),
        (0, "(x != x).float() + x"),
        (0, "(x <= {s}).to(torch.float32) * x"),
        (0, "x @ torch.full(({L}, {o}), {s})"),
        (0, "torch.full(({L},), {s}) + x"),
        (0, "x * torch.tensor({s})"),
    ],
    "refused": [
        (0, "x.double()"),
        (0, "torch.special.i0(x)"),
        (0, "torch.fft.fft(x).real"),
        (0, "x[x > 0]"),
    ],
}


def _numbers(rng: random.Random, shape: torch.Size) -> dict[str, object]:
    a = rng.randrange(len(shape))
    n = shape[a]
    channels = shape[1] if len(shape) > 1 else shape[0]
    return dict(
        a=a,
        n=n,
        h=max(n // 2, 1),
        i=rng.randrange(n),
        C=channels,
        c=max(channels // 2, 1),
        L=shape[-1],
        o=rng.choice([4, 6, 16]),
        s=rng.choice([0.25, 0.37, 0.8, 1.3]),
    )


class Graph:
    """A graph: its source, its modules, its input, and what PyTorch computes."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        torch.manual_seed(seed)
        self.seed = seed
        self.input = torch.randn(2, rng.choice([3, 8, 16]), rng.choice([6, 8]), rng.choice([6, 7, 8]))
        self.modules: dict[str, nn.Module] = {}
        lines: list[str] = []
        length, x = rng.randint(3, 6), self.input
        while len(lines) < length:
            kind = rng.choices(list(STEPS), [30, 30, 25, 20, 1])[0]
            ranks, step = rng.choice(STEPS[kind])
            if ranks not in (0, x.dim()):
                continue
            line, modules = self._line(step.format(**_numbers(rng, x.shape)), len(lines))
            try:
                value = self._run([line], {**self.modules, **modules}, x, self.input)
            except (RuntimeError, ValueError, IndexError):
                # Sizes that the step does not take.
                continue
            if not value.isfinite().all() or value.numel() > 20000 or not value.numel() or value.dim() not in (1, 2, 3, 4):
                continue
            if value.dim() == 1 or value.is_complex() or not self._is_stable(line, {**self.modules, **modules}, x, value):
                continue
            lines.append(line)
            self.modules.update(modules)
            x = value
        self.lines, self.wanted = lines, x

    def _line(self, step: str, at: int) -> tuple[str, dict[str, nn.Module]]:
        if not step.startswith("nn."):
            return f"x = {step}", {}
        module = eval(step, {"nn": nn}).eval()
        return f"x = m{at}(x)  # {step}", {f"m{at}": module}

    def _is_stable(self, line: str, modules: dict[str, nn.Module], x: torch.Tensor, value: torch.Tensor) -> bool:
        """Whether rounding of the operand changes the result by rounding: a norm of equal elements is not."""
        noise = torch.randn(x.shape, generator=torch.Generator().manual_seed(self.seed))
        near = self._run([line], modules, x * (1 + 1e-6 * noise), self.input)
        return bool((near - value).abs().max() <= 3e-5 * value.abs().max() + 1e-7)

    @staticmethod
    def _run(lines: list[str], modules: dict[str, nn.Module], x: object, w: object) -> torch.Tensor:
        names = dict(modules, torch=torch, F=F, nn=nn, x=x, w=w)
        with torch.no_grad():
            exec("\n".join(lines), names)
        return names["x"]

    def run(self, x: object) -> object:
        """The graph on another tensor."""
        return self._run(self.lines, self.modules, x, x)

    def __str__(self) -> str:
        return "\n".join([f"# graph {self.seed}: x is {list(self.input.shape)}", *self.lines])
