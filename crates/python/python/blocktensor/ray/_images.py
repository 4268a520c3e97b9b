"""One row's image, decoded and placed into the input of a plan."""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._errors import InvalidArgument
from ._packages import package

#: Options of `Predictor` for models that were trained on ImageNet: what `blocktensor run --imagenet` does.
IMAGENET: Mapping[str, Any] = {
    "resize": 256,
    "crop": True,
    "mean": (0.485, 0.456, 0.406),
    "std": (0.229, 0.224, 0.225),
}


#: Pixels that a resized image may have: a strip of one pixel's height would become a very long one.
MOST_PIXELS = 1 << 27


class BadImage(Exception):
    """What is wrong with one image: the text of its row."""


def invalid(argument: str, got: object, rule: str, remedy: str) -> InvalidArgument:
    """An error about an argument of `Predictor`."""
    made = InvalidArgument(f"op `blocktensor.ray.Predictor`: argument `{argument}`: got {got}; {rule}; {remedy}")
    made.op, made.operands, made.remedy = "blocktensor.ray.Predictor", [argument], remedy
    return made


def _numbers(argument: str, given: float | Sequence[float], channels: int) -> NDArray[np.float32]:
    """One number for each channel, as [C, 1, 1]."""
    try:
        numbers = np.asarray(given, np.float32)
    except (TypeError, ValueError):
        raise invalid(argument, repr(given), "it is a number or one for each channel", "pass numbers") from None
    if numbers.ndim > 1 or numbers.size not in (1, channels) or not np.isfinite(numbers).all():
        rule = f"it is a finite number, or one for each of the plan's {channels} channels"
        raise invalid(argument, repr(given), rule, f"pass {channels} numbers")
    return np.broadcast_to(numbers.reshape(-1, 1, 1), (channels, 1, 1))


def _check_resize(shape: tuple[int, int, int], resize: object, crop: bool) -> None:
    """Refuses sizes from which no image could have the plan's."""
    if resize is None:
        return
    height, width = shape[1:]
    sides: tuple[Any, ...] = resize if isinstance(resize, tuple) and len(resize) == 2 else (resize,)
    if any(type(side) is not int or side < 1 for side in sides):
        rule = "it is the pixels of the shorter side, or (height, width)"
        raise invalid("resize", repr(resize), rule, "pass a positive integer or a pair of them")
    # With one side, the other depends on the image.
    needed = (height, width) if len(sides) == 2 else (min(height, width),)
    if not all(side >= need if crop else side == need for side, need in zip(sides, needed, strict=True)):
        rule = f"the plan takes images of {height}x{width}"
        raise invalid("resize", repr(resize), rule, f"pass `resize=({height}, {width})`")


@dataclass(frozen=True)
class Images:
    """How an image becomes [C, H, W] in f32."""

    shape: tuple[int, int, int]
    resize: int | tuple[int, int] | None
    crop: bool
    scale: NDArray[np.float32]
    mean: NDArray[np.float32]
    std: NDArray[np.float32]
    decode: Callable[[bytes], NDArray[Any]] | None

    @staticmethod
    def of(
        shape: tuple[int, int, int],
        resize: int | tuple[int, int] | None,
        crop: bool,
        mean: float | Sequence[float],
        std: float | Sequence[float],
        decode: Callable[[bytes], NDArray[Any]] | None,
    ) -> "Images":
        """Checks the options."""
        _check_resize(shape, resize, crop)
        if decode is not None and not callable(decode):
            raise invalid("decode", repr(decode), "it is a function of the bytes of an image", "pass a function")
        means, deviations = _numbers("mean", mean, shape[0]), _numbers("std", std, shape[0])
        if (deviations == 0).any():
            raise invalid("std", repr(std), "values are divided by it", "pass numbers other than 0")
        scale = np.float32(1) / (np.float32(255) * deviations)
        return Images(shape, resize, bool(crop), scale, means, deviations, decode)

    def place(self, image: object, into: NDArray[np.float32]) -> None:
        """Writes the image into [C, H, W], or raises `BadImage`."""
        if isinstance(image, Mapping):
            # As datasets of Hugging Face keep images.
            image = image.get("bytes")
        if image is None:
            raise BadImage("no image: the row is null")
        if isinstance(image, (bytes, bytearray, memoryview)):
            image = self._decoded(bytes(image))
        if not isinstance(image, np.ndarray):
            raise BadImage(f"no image: {type(image).__name__}, not bytes or an array")
        if image.dtype == np.uint8:
            self._place_pixels(image, into)
        elif image.dtype == np.float32:
            if image.shape != self.shape:
                raise BadImage(f"size: got {list(image.shape)} in f32, the plan takes {list(self.shape)}, which is [C, H, W]")
            np.subtract(image, self.mean, out=into)
            np.divide(into, self.std, out=into)
        else:
            raise BadImage(f"dtype: got {image.dtype}; pixels are u8 [H, W, C], and other images f32 [C, H, W]")

    def _decoded(self, data: bytes) -> NDArray[Any]:
        if not data:
            raise BadImage("no image: the row has no bytes")
        if self.decode is None:
            return _pixels(data, self.shape[0])
        try:
            made = self.decode(data)
        except Exception as e:
            raise BadImage(f"decode: {type(e).__name__}: {e}") from e
        return made

    def _place_pixels(self, pixels: NDArray[np.uint8], into: NDArray[np.float32]) -> None:
        channels, height, width = self.shape
        if pixels.ndim == 2:
            pixels = pixels[:, :, None]
        if pixels.ndim != 3 or pixels.shape[2] != channels:
            rule = f"the plan takes {channels} channel{'s' if channels > 1 else ''}, and pixels are [H, W, C]"
            raise BadImage(f"size: got {list(pixels.shape)} in u8, {rule}")
        if 0 in pixels.shape:
            raise BadImage(f"size: got {list(pixels.shape)}, an image without pixels")
        if self.resize is not None:
            pixels = _resized(pixels, self.resize)
        got = pixels.shape[:2]
        if self.crop and got[0] >= height and got[1] >= width:
            top, left = (got[0] - height) // 2, (got[1] - width) // 2
            pixels = pixels[top : top + height, left : left + width]
        elif got != (height, width):
            remedy = f"pass `resize=({height}, {width})`, or `resize={max(height, width)}, crop=True`, to `Predictor`"
            raise BadImage(f"size: got {got[0]}x{got[1]}, the plan takes {height}x{width}; {remedy}")
        np.multiply(pixels.transpose(2, 0, 1), self.scale, out=into)
        np.subtract(into, self.mean / self.std, out=into)


def _pixels(data: bytes, channels: int) -> NDArray[np.uint8]:
    """Decodes with pillow: u8 [H, W, C]. Nothing that an image has is dropped without an error."""
    pillow = package("PIL.Image", "blocktensor.ray.Predictor on encoded images")
    try:
        with pillow.open(io.BytesIO(data)) as image:
            return _of_mode(image, channels)
    except pillow.UnidentifiedImageError:
        raise BadImage("cannot be decoded: no format that pillow knows") from None
    except BadImage:
        raise
    except Exception as e:
        # Damaged files end in errors of many kinds, some of them bare.
        raise BadImage(f"cannot be decoded: {str(e) or type(e).__name__}") from e


def _of_mode(image: Any, channels: int) -> NDArray[np.uint8]:
    mode = image.mode
    if mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        image = image.convert("RGBA")
        if image.getextrema()[3][0] < 255:
            raise BadImage("the image has transparent pixels; put it on a background first, or pass `decode=` to `Predictor`")
        image = image.convert("L" if mode in ("1", "L", "LA") else "RGB")
        mode = image.mode
    grey = mode in ("1", "L")
    if channels == 3 and (grey or mode in ("RGB", "P", "CMYK", "YCbCr")):
        return np.asarray(image.convert("RGB"))
    if channels == 1 and grey:
        return np.asarray(image.convert("L"))
    raise BadImage(f"an image of mode {mode} for a plan of {channels} channels; convert it, or pass `decode=` to `Predictor`")


def _resized(pixels: NDArray[np.uint8], resize: int | tuple[int, int]) -> NDArray[np.uint8]:
    """Bilinear with antialiasing: `resize` is the shorter side, or (height, width)."""
    height, width = pixels.shape[:2]
    if isinstance(resize, int):
        shorter = min(height, width)
        resize = (height * resize // shorter, width * resize // shorter)
    if resize == (height, width):
        return pixels
    if resize[0] * resize[1] > MOST_PIXELS:
        raise BadImage(f"size: got {height}x{width}, which is {resize[0]}x{resize[1]} after `resize`: too many pixels")
    pillow = package("PIL.Image", "blocktensor.ray.Predictor with `resize`")
    planes = [
        np.asarray(pillow.fromarray(np.ascontiguousarray(pixels[:, :, c])).resize(resize[::-1], pillow.Resampling.BILINEAR))
        for c in range(pixels.shape[2])
    ]
    return np.stack(planes, axis=2)

