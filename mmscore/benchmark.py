"""What the file of your own benchmark imports: four functions and a name make one.

    from mmscore.benchmark import Benchmark, image, read

    def load(files):
        return read(files.path("questions.tsv"))

    def prompt(row):
        return [image(row["image_path"]), row["question"]]

    def score(answer, sample):
        return answer == sample.target

    BENCHMARK = Benchmark(name="my_task", load=load, prompt=prompt, score=score)

`mmscore run my_task.py --data FOLDER ...` asks it. `parse` and `score` run in several threads at
once and again whenever replies are scored anew, so they should depend on their arguments alone.
"""

from __future__ import annotations

from mmscore.benchmarks.base import Files
from mmscore.benchmarks.own_class import Benchmark, Medium, audio, image, read, video
from mmscore.types import Message, Sample

__all__ = ["Benchmark", "Files", "Medium", "Message", "Sample", "audio", "image", "read", "video"]
