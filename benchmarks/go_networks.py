"""Networks compared: what each learns from the same games in the same processor time.

Each network is trained on recorded games for a number of seconds of one core, its learning rate
falling to the end, and measured on the test split: move prediction, values, and evaluations per
second in int8 on ONNX Runtime and in fp32 on torch. A network is written as NAME:HEIGHTxWIDTH, with
other parameters after commas; `root_share` and `symmetries` among them are those of the data. So an
addition is measured by a network with it and one without.

    python benchmarks/go_networks.py data/go9 --seconds 600 tower:5x64 tower:8x64,pooling=3
    python benchmarks/go_networks.py data/go9 tower:5x64,symmetries=false --json
    python benchmarks/go_networks.py data/go9-annotated tower:5x64 tower:5x64,root_share=0.75
"""

from __future__ import annotations

import argparse
import copy
import json
import re
import time
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import torch

from common.conditions import conditions
from miai.plain import parse_assignment
from miai_go.learning.data.dataset import GoDataset
from miai_go.learning.training.config_sections import (
    EncoderSection,
    LearningTables,
    LessonSection,
    LossSection,
    NetworkSection,
    OptimiserSection,
    TrainingRunSection,
)
from miai_go.learning.training.initial_network import make_network
from miai_go.learning.training.learner import Learner
from miai_go.learning.training.measuring import measure
from miai_go.learning.training.supervised import (
    batches_of,
    endless_streams,
    lesson_of,
    root_sharpness,
)
from miai_go.nets.network import NetworkWeights, WeightsHeader, folded
from miai_go.nets.onnx_export import onnx_model
from miai_go.nets.onnx_oracle import OnnxOracle
from miai_go.nets.oracle import Oracle
from miai_go.nets.torch_oracle import TorchOracle
from miai_go.rules.sizes import only_size, sizes_of

TRIED = 12
"""Steps that tell how long one takes."""
BATCH = 256
LEAVES = 8
"""Positions in a batch whose speed is measured: leaves of a search."""
REPEATS = 100


LESSONS = ("root_share", "symmetries")
"""Settings of the data that a design may have."""


@dataclass(frozen=True)
class Design:
    """A network as the command line names it."""

    text: str
    network: NetworkSection
    lessons: dict[str, Any]

    @classmethod
    def read(cls, text: str) -> Design:
        """Return the network that `text` names; raise for the parser of the command line."""
        match = re.fullmatch(r"([a-z-]+):(\d+)x(\d+)((?:,\w+=[^,]+)*)", text)
        if match is None:
            raise argparse.ArgumentTypeError(f"{text}: give NAME:HEIGHTxWIDTH,PARAMETER=VALUE")
        values: dict[str, Any] = {"height": int(match[2]), "width": int(match[3])}
        values |= dict(parse_assignment(part) for part in match[4].split(",") if part)
        lessons = {name: values.pop(name) for name in LESSONS if name in values}
        try:
            LessonSection(sources=("games",), **lessons)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{text}: {lessons} do not fit") from error
        return cls(text, NetworkSection(name=match[1], parameters=values), lessons)


def trained(
    design: Design, data: LessonSection, arguments: argparse.Namespace
) -> tuple[NetworkWeights, dict[str, Any], GoDataset]:
    """Return a trained network, figures of the training, and the games of the test split."""
    encoder = EncoderSection(name=arguments.encoder)
    size = only_size(sizes_of(data.size), what="this benchmark")
    network, encoders, header = make_network(size, encoder, design.network, seed=1)
    feeder = encoders[size]
    train, _validation = data.open(feeder)
    test = GoDataset.of_shards(
        train.shards,
        encoder=feeder,
        split="test",
        fractions=(1 - data.validation - data.test, data.validation, data.test),
    )
    sharpness = root_sharpness(*train.searched())
    steps, spent, done = TRIED, 0.0, 0
    for final in (False, True):
        network, _encoders, header = make_network(size, encoder, design.network, seed=1)
        run = TrainingRunSection(steps=steps, precision=arguments.precision, average=0.995)
        optimiser = OptimiserSection(rate=arguments.rate, batch=BATCH)
        loss = LossSection(ownership=0.5, score=0.05)
        tables = LearningTables(optimiser=optimiser, loss=loss, run=run)
        learner = Learner(network, feeder.scales, tables)
        batches = batches_of(endless_streams(train, BATCH, seed=1, symmetries=data.symmetries))
        learner.learn(lesson_of(next(batches)))  # loads libraries
        began = time.process_time()
        for batch in islice(batches, steps):
            learner.learn(lesson_of(batch, root_share=data.root_share, sharpness=sharpness))
            done += len(batch)
        spent = time.process_time() - began
        if not final:
            steps, done = max(TRIED, round(TRIED * arguments.seconds / spent)), 0
    with learner.averaged_weights():
        averaged = copy.deepcopy(network.state_dict())
    network.load_state_dict(averaged)
    figures: dict[str, Any] = {
        "network": design.text,
        "parameters": sum(p.numel() for p in network.parameters()),
        "seconds": round(spent, 1),
        "positions_learnt": done,
    }
    return NetworkWeights(network.eval(), header), figures, test


def answers_per_second(oracle: Oracle, size: int) -> float:
    """Return the evaluations per second of processor time in batches of `LEAVES`."""
    shape = (LEAVES, oracle.encoder.planes, size, size)
    planes = np.random.default_rng(1).integers(0, 2, shape).astype(np.uint8)
    oracle.infer(planes)
    times = []
    for _ in range(REPEATS):
        began = time.process_time()
        oracle.infer(planes)
        times.append(time.process_time() - began)
    return LEAVES / float(np.median(times))


def measured(weights: NetworkWeights, test: GoDataset, limit: int) -> dict[str, Any]:
    """Return what a network knows, and how fast it is."""
    size = test.size
    encoder = test.encoders[size]
    oracle = TorchOracle(weights, encoder, precision="fp32", threads=1)
    network = folded(weights.network)
    scales = torch.from_numpy(encoder.scales).view(1, -1, 1, 1)

    def answers(planes: np.ndarray) -> Any:
        with torch.inference_mode():
            return network(torch.from_numpy(planes).float() * scales)

    found = measure(answers, test, limit=limit).figures()
    coarse = OnnxOracle(
        onnx_model(weights, precision="int8", positions=256).SerializeToString(), where="int8"
    )
    return {
        **{name: round(value, 4) for name, value in found.items()},
        "int8_per_second": round(answers_per_second(coarse, size)),
        "fp32_per_second": round(answers_per_second(oracle, size)),
    }


def main() -> None:
    """Train, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("games", help="Shard set of recorded games")
    parser.add_argument("networks", nargs="+", type=Design.read, metavar="NAME:HEIGHTxWIDTH")
    parser.add_argument("--seconds", type=float, default=600, help="Seconds of training for each")
    parser.add_argument("--size", type=int, default=9, help="Board size")
    parser.add_argument("--encoder", default="alphago", help="Encoder of all networks")
    parser.add_argument("--rate", type=float, default=0.05, help="Maximum learning rate")
    parser.add_argument("--precision", default="fp32", choices=("fp32", "bf16"))
    parser.add_argument("--positions", type=int, default=20_000, help="Positions of the test")
    parser.add_argument("--json", action="store_true", help="Print JSON")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for design in arguments.networks:
        data = LessonSection(sources=(arguments.games,), size=arguments.size, **design.lessons)
        weights, figures, test = trained(design, data, arguments)
        assert isinstance(weights.header, WeightsHeader)
        rows.append(figures | measured(weights, test, arguments.positions))
        if not arguments.json:
            print("  ".join(f"{name} {value}" for name, value in rows[-1].items()), flush=True)
    if arguments.json:
        print(json.dumps({"rows": rows, **conditions()}, indent=2))


if __name__ == "__main__":
    main()
