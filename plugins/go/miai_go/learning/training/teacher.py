"""A trained network as a teacher: its answers become part of another's targets (distillation).

A small network learns more from the probabilities of a large one than from moves and results alone
(Hinton, Vinyals and Dean 2015, "Distilling the knowledge in a neural network").
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor
from torch.nn import functional

from miai.errors import WeightsError
from miai.parameters import StrictModel, parameter
from miai_go.learning.training.config_sections import TrainingRunSection
from miai_go.learning.training.learner import Batched, Lesson
from miai_go.nets.encoder import Encoders
from miai_go.nets.network import Outputs, WeightsHeader, load_weights
from miai_go.shipped import find_weights


class TeacherSection(StrictModel):
    """A network to learn from beside the games."""

    weights: str = parameter("", help="Weights of the teacher; empty for none")
    share: float = parameter(
        0.5, gt=0, le=1, help="Weight of the teacher's answers beside the targets from the games"
    )


class Teacher:
    """Adds a network's answers to the targets of lessons.

    Attributes:
      digest: of the network's weights.

    Raises:
      MiaiError: the weights cannot be read, or are for another board size or encoder than `header`.
    """

    def __init__(
        self,
        section: TeacherSection,
        encoders: Encoders,
        header: WeightsHeader,
        run: TrainingRunSection,
    ) -> None:
        encoder = next(iter(encoders.values()))
        try:
            path = find_weights(section.weights)
            loaded = load_weights(path)
        except WeightsError as error:
            raise WeightsError(f"teacher.weights: {error}") from error
        loaded.header.check_encoder(
            header.encoder, header.encoder_parameters, encoder.planes, where="teacher.weights"
        )
        for size in encoders:
            loaded.header.board_size(size, where=f"teacher.weights: {path}")
        self.digest = loaded.header.sha256
        self._share = section.share
        self._device = torch.device(run.device)
        self._bf16 = run.precision == "bf16"
        network = loaded.network.eval().requires_grad_(False).to(self._device)
        self._network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._scales = torch.from_numpy(encoder.scales.copy()).to(self._device).view(1, -1, 1, 1)

    def taught(self, lesson: Lesson) -> Lesson:
        """Return the lesson with the teacher's answers in its targets.

        Where a target is unknown, the answer stands alone; a move without weight gets the weight of
        the teacher's share.
        """
        answers = self._answers(lesson)
        policy, weight = self._moves(lesson, answers)
        return replace(
            lesson,
            policy=policy,
            weight=weight,
            value=self._mixed(lesson.value, answers.value),
            ownership=self._owners(lesson, answers),
            score=self._mixed(lesson.score, answers.score),
        )

    def _answers(self, lesson: Lesson) -> Outputs:
        planes = self._tensor(lesson.planes).float() * self._scales
        with (
            torch.inference_mode(),
            torch.autocast(self._device.type, dtype=torch.bfloat16, enabled=self._bf16),
        ):
            given: Outputs = self._network(planes.contiguous(memory_format=torch.channels_last))
        return Outputs(*(None if answer is None else answer.float() for answer in given))

    def _moves(self, lesson: Lesson, answers: Outputs) -> tuple[Batched | None, Batched | None]:
        """Return the targets of the policy, and their weights."""
        if answers.policy is None:
            return lesson.policy, lesson.weight
        answer = torch.softmax(answers.policy, 1)
        if lesson.policy is not None:
            target = self._tensor(lesson.policy).float()
        elif lesson.action is not None:
            actions = self._tensor(lesson.action)
            target = functional.one_hot(actions, answer.shape[1]).float()
        else:
            return answer, None
        known = torch.ones(len(answer), device=self._device)
        if lesson.weight is not None:
            known = self._tensor(lesson.weight)
        # A target without weight is from a search too fast to learn from: there the answer stands
        # alone.
        aimed = (known > 0)[:, None]
        mixed = torch.where(aimed, torch.lerp(target, answer, self._share), answer)
        return mixed, torch.where(known > 0, known, self._share)

    def _owners(self, lesson: Lesson, answers: Outputs) -> Batched | None:
        target = lesson.ownership
        if target is not None and answers.ownership is not None:
            owners = self._tensor(target).float()
            unknown = ~owners.flatten(1).any(1)[:, None, None]
            target = owners.masked_fill(unknown, torch.nan)
        return self._mixed(target, answers.ownership)

    def _mixed(self, column: Batched | None, answer: Tensor | None) -> Batched | None:
        """Return the targets, nan where unknown, with the answers' share."""
        if answer is None or column is None:
            return column if answer is None else answer
        target = self._tensor(column)
        return torch.where(target.isnan(), answer, torch.lerp(target, answer, self._share))

    def _tensor(self, column: Batched) -> Tensor:
        return torch.as_tensor(column).to(self._device)
