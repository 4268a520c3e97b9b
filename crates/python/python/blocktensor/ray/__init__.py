"""Images through a plan on Ray Data: an actor class for `map_batches`.

    import ray, blocktensor.ray as btr
    images = btr.read_images("photos/")           # a folder or Parquet files; nothing is decoded yet
    done = images.map_batches(
        btr.Predictor,
        fn_constructor_kwargs={"plan": "/plans/resnet50.plan", **btr.IMAGENET},
        compute=ray.data.ActorPoolStrategy(size=2),
        num_cpus=4,                               # of each worker, and the threads of its plan
        batch_size=64,
        batch_format="pyarrow",                   # other columns keep their types, and integers their nulls
    )
    done.write_parquet("results/")

Rows keep their other columns and their order within a batch. An image that cannot be used is a row with a text in `error`.
"""

from ._images import IMAGENET
from ._predictor import Predictor
from ._read import read_images
from ._summary import Summary

__all__ = ["IMAGENET", "Predictor", "Summary", "read_images"]
