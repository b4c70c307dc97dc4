"""From numbers and findings to the reasons of a verdict.

Thresholds were chosen on clean and spoilt logs of virtual robots and on recorded logs of six real
ones; see the page "The verdict" of the documentation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from steelyard.diagnosis.verdict.verdict import (
    DO_NOT_USE,
    SEEN,
    WITH_CARE,
    Numbers,
    Reason,
    about,
    share,
)
from steelyard.findings import Finding
from steelyard.model.mechanism import BASE_WRENCH, row_words

NOTHING = 0.9
"""Unexplained share of the torque that is hardly better than predicting none."""
POOR = 0.5
"""Unexplained share above which a result is not to be used, unless noise explains it."""
LARGE = 0.15
"""The same above which care is needed."""
EXPLAINED_BY_NOISE = 1.5
"""An error up to so many times the torque's noise is one of noise."""
ABOVE_NOISE, NOT_SMALL = 6.0, 0.02
"""Care is needed where an error is so many times the noise, and not below this share of the
torque."""
STANDS_OUT, PEERS = 4.0, 2
"""Care is needed where this holds for one joint, and its error is so many times the median of at
least so many others: the sum of all torques hides a small one. Of recorded logs, the errors of
joints differ by up to two times from their median (UR10, TX-40)."""
FAR_ABOVE_NOISE, SYSTEMATIC = 40.0, 0.3
"""An error that is so many times a noise that can be seen, and above this share of the torque, is
no accident of the measurement: log or model is wrong. Recorded logs are away from it by a factor
of two: 21 times the noise at 35 % (Kinova Gen3), 45 times at 14 % (EMPS)."""
CLEARLY_WORSE, WORSE, BY_AT_LEAST = 1.5, 1.1, 0.005
"""Error over that of a simpler model from which a result is not to be used, or only with care; and
least difference, as a share of the torque: below it both are as good."""
FILE_DOUBTED, FILE_CONTRADICTED = 1.0, 3.0
"""Error of the file's links, with or without fitted friction, from which file and log contradict
each other so much that one of them is wrong: for care, and for not using what comes of them."""
TRAINING_WORSE, TRAINING_LARGE = 2.0, 0.08
"""Error of the fit, over that on other logs and as a share of the torque, from which care is needed
although the other logs are explained."""
MISSES = 3.0
"""Error on left-out parts, over what the fit leaves, from which no set of parameters describes all
parts of the logs, if these determine them: the smallest error with any weight of the prior.
Simulated logs of 3 s and more have at most 1.5, recorded ones of a KUKA LWR4+, a UR10 and a Stäubli
TX-40 up to 1.8, of a Kinova Gen3 3.0 to 4.9."""
ELSEWHERE_LARGE, ELSEWHERE_POOR = 0.1, 0.2
"""Error to be expected on other motions from which care is needed, and a result is not to be used.
Of 18 logs and parts of logs of real robots it is 0.4 to 2 times the error on another log of them;
of 54 simulated logs that last 0.3 to 30 s, 0.2 to 3 times the true one, if it is above 0.05."""
ELSEWHERE_HIDDEN, ELSEWHERE_SMALL = 3.0, 0.05
"""Care is needed as well where it is so many times what the logs show, and not small."""
ELSEWHERE_MORE = 1.5
"""What is expected must be so many times what the logs show: else that is to be judged itself."""
NO_BETTER = 1.1
"""Error of friction alone, over that of the estimate, up to which links are not seen."""
LITTLE_DETERMINED, MODEL_MISSES = "little-determined", "model-misses"
ADVICE = {
    LITTLE_DETERMINED: "record for longer, and take every joint through its range and back "
    "(steelyard design makes such a motion)",
    MODEL_MISSES: "look for play, elasticity, contacts, friction that depends on load, and for a "
    "part of the log that is unlike the rest",
}
"""What to do about reasons that are found when the verdict is made."""
DOUBTS = (
    "negative-mass",
    "few-samples",
    "trimmed-away",
    "mostly-slow",
    "not-seen",
    "impossible-values",
    "no-cluster-covariance",
    "poor-fit-of-a-joint",
    "worse-than-prior",
    "used-for-the-estimate",
)
"""Codes of warnings about an estimate or its validation that allow its use only with care."""


def reasons_of(
    numbers: Numbers,
    *,
    input_findings: Sequence[Finding] = (),
    validation_findings: Sequence[Finding] = (),
    findings: Iterable[Finding] = (),
    physical: bool = True,
    held_out: bool = False,
    training: Numbers | None = None,
    left_out_score: float = float("nan"),
) -> list[Reason]:
    """Everything that speaks against a result.

    input_findings, validation_findings : about the logs that it was made from, and those that it
        was tested on. findings : all of it. physical : whether its bodies can exist, where it has
        any. held_out : whether the numbers are of other logs. training : the error of the fit
        then, where it is known. left_out_score : the smallest error on left-out parts over that
        of the fit.
    """
    if not numbers.error < NOTHING:
        return [*_of_size(numbers), *_of_input(numbers, input_findings, validation_findings)]
    return [
        *_of_size(numbers),
        *_of_poor_joints(numbers),
        *_of_odd_joints(numbers),
        *_of_elsewhere(numbers, left_out_score, held_out=held_out),
        *_of_training(numbers, training),
        *_of_other_models(numbers, held_out=held_out),
        *_of_input(numbers, input_findings, validation_findings, held_out=held_out),
        *_of_estimate(numbers, findings, physical=physical),
    ]


def found_by_judging(reasons: Iterable[Reason]) -> tuple[Finding, ...]:
    """Reasons that no finding tells yet, as warnings with what to do."""
    return tuple(
        Finding("warning", one.code, f"{one.words}; {ADVICE[one.code]}")
        for one in reasons
        if one.code in ADVICE
    )


def _of_size(numbers: Numbers) -> Iterator[Reason]:
    """Whether the error is small, alone and beside the noise of the torques."""
    error, noise = numbers.error, numbers.noise
    words = f"{share(error)} of the {numbers.quantity} is unexplained on {numbers.data}"
    times = error / noise if noise >= SEEN else 0.0
    if not error < NOTHING:
        than = "worse" if error > 1.0 else "hardly better"
        more = f"{than} than predicting no {numbers.quantity}"
        yield Reason(DO_NOT_USE, "explains-nothing", f"{words}, {more}", error, NOTHING)
    elif error <= EXPLAINED_BY_NOISE * noise:
        if error > LARGE:
            words += f", most of which is noise ({share(noise)})"
            yield Reason(WITH_CARE, "noisy-torque", words, error, LARGE)
    elif error > POOR:
        yield Reason(DO_NOT_USE, "large-error", words, error, POOR)
    elif error > SYSTEMATIC and times > FAR_ABOVE_NOISE:
        words += f", {times:.3g} times its noise: the log or the model is wrong"
        yield Reason(DO_NOT_USE, "large-error", words, error, SYSTEMATIC)
    elif error > LARGE:
        yield Reason(WITH_CARE, "large-error", words, error, LARGE)
    elif error > NOT_SMALL and times > ABOVE_NOISE:
        words += f", {times:.3g} times its noise: friction or the log holds more than the model"
        yield Reason(WITH_CARE, "above-noise", words, error, ABOVE_NOISE * noise)


def _of_poor_joints(numbers: Numbers) -> Iterator[Reason]:
    """Joints of which little is explained."""
    bad = [
        one
        for one in numbers.joints
        if one.error > POOR and not one.error <= EXPLAINED_BY_NOISE * one.noise
    ]
    if bad and len(numbers.joints) > 1:
        worst = max(bad, key=lambda one: one.error)
        name = row_words(worst.name) if worst.name in BASE_WRENCH else f"torque of '{worst.name}'"
        others = f", as of {len(bad) - 1} more" if len(bad) > 1 else ""
        words = f"{share(worst.error)} of the {name} is unexplained{others}"
        yield Reason(WITH_CARE, "joint-not-explained", words, worst.error, POOR)


def _of_odd_joints(numbers: Numbers) -> Iterator[Reason]:
    """The joint whose error stands out from the others', far above its noise."""
    odd = []
    for one in numbers.joints:
        others = [two.error for two in numbers.joints if two is not one and two.error == two.error]
        if len(others) < PEERS or not one.noise >= SEEN:
            continue
        usual = median(others)
        limit = max(NOT_SMALL, ABOVE_NOISE * one.noise, STANDS_OUT * usual)
        if POOR >= one.error > limit:
            odd.append((one.error / limit, one, usual, limit))
    if odd:
        _, one, usual, limit = max(odd, key=lambda found: found[0])
        words = (
            f"{share(one.error)} of the torque of '{one.name}' is unexplained, "
            f"{one.error / one.noise:.3g} times its noise, and of others {share(usual)}: look at "
            "its signals and its friction"
        )
        yield Reason(WITH_CARE, "joint-stands-out", words, one.error, limit)


def _of_elsewhere(numbers: Numbers, left_out_score: float, *, held_out: bool) -> Iterator[Reason]:
    """Whether the logs determine what other motions need; and if so, whether the model fits all of
    them.

    A log that was not used confirms the estimate on its own motion, which is one of many.
    """
    expected = numbers.elsewhere
    limit = max(ELSEWHERE_HIDDEN * numbers.error, ELSEWHERE_SMALL)
    if held_out:
        limit = max(ELSEWHERE_LARGE, limit)
    else:
        limit = max(min(ELSEWHERE_LARGE, limit), ELSEWHERE_MORE * numbers.error)
    if expected > limit:
        poor = expected > ELSEWHERE_POOR and not held_out
        words = (
            "the logs say too little about motions through other positions: an error of about "
            f"{share(expected)} of the torque is to be expected there ({share(numbers.error)} on "
            f"{numbers.data})"
        )
        level, limit = (DO_NOT_USE, max(ELSEWHERE_POOR, limit)) if poor else (WITH_CARE, limit)
        yield Reason(level, LITTLE_DETERMINED, words, expected, limit)
    # where the logs determine too little, left-out parts are predicted badly by a right model, too
    if left_out_score >= MISSES and not expected > ELSEWHERE_POOR:
        words = (
            "the model misses something of the robot: with the best weight of the prior, left-out "
            f"parts of the logs are predicted with {left_out_score:.2g} times the error of a fit "
            "to all of them"
        )
        yield Reason(WITH_CARE, MODEL_MISSES, words, left_out_score, MISSES)


def _of_training(numbers: Numbers, training: Numbers | None) -> Iterator[Reason]:
    """Whether the logs of the estimate are explained far worse than others: something in them is
    wrong that the others do not have.
    """
    if training is None or training.error <= EXPLAINED_BY_NOISE * training.noise:
        return
    limit = max(TRAINING_WORSE * numbers.error, TRAINING_LARGE)
    if training.error > limit:
        words = (
            f"{share(training.error)} of the {training.quantity} is unexplained in "
            f"{training.data}, and only {share(numbers.error)} on {numbers.data}: look at the "
            "former"
        )
        yield Reason(WITH_CARE, "training-unexplained", words, training.error, limit)


def _of_other_models(numbers: Numbers, *, held_out: bool) -> Iterator[Reason]:
    """Whether simpler models predict better."""
    for code, name, other in (
        ("worse-than-file", "the file's inertials without friction leave", numbers.file),
        (
            "worse-than-file-with-friction",
            "the file's links with friction fitted leave",
            numbers.file_with_terms,
        ),
    ):
        worse = numbers.error / other if other > 0.0 else float("inf") * (other == other)
        if numbers.error - other < BY_AT_LEAST or not worse > WORSE:
            continue
        grave = worse > CLEARLY_WORSE or (held_out and code == "worse-than-file")
        words = (
            f"{name} less of the {numbers.quantity} unexplained ({share(other)}) than the estimate "
            f"({share(numbers.error)}) on {numbers.data}"
        )
        yield Reason(DO_NOT_USE if grave else WITH_CARE, code, words, numbers.error, other)
    # fitted to a short log, friction alone can be far off on another one
    stated = min(numbers.file, numbers.file_with_terms)
    if stated > FILE_DOUBTED:
        words = (
            "the robot file contradicts the log: its links leave "
            f"{share(stated)} of the {numbers.quantity} unexplained, so that one of them is wrong"
        )
        level = DO_NOT_USE if stated > FILE_CONTRADICTED else WITH_CARE
        yield Reason(level, "file-contradicted", words, stated, FILE_DOUBTED)
    alone = numbers.friction_alone
    if alone <= max(NO_BETTER * numbers.error, numbers.error + BY_AT_LEAST):
        words = (
            f"friction alone explains the {numbers.quantity} as well ({share(alone)} unexplained), "
            "so that the logs say little about the links"
        )
        yield Reason(WITH_CARE, "links-not-seen", words, alone, numbers.error)


def _of_input(
    numbers: Numbers,
    input_findings: Sequence[Finding],
    validation_findings: Sequence[Finding],
    *,
    held_out: bool = False,
) -> Iterator[Reason]:
    """What was found in the logs.

    A severe finding that was accepted leaves a result usable only if logs in which there is none
    confirm it.
    """
    severe = [one for one in input_findings if one.level == "severe"]
    wrong = [one for one in validation_findings if one.level == "severe"]
    if severe:
        confirmed = held_out and not wrong and numbers.error <= LARGE
        words = f"the log is wrong in a way that was accepted ({about(severe)})"
        yield Reason(WITH_CARE if confirmed else DO_NOT_USE, "accepted", words)
    if wrong:
        words = f"the log to validate on is wrong ({about(wrong)})"
        yield Reason(WITH_CARE, "validation-log-wrong", words)
    mended = [one for one in input_findings if one.corrected and one.alarming]
    for what, delayed in (("a delay of the torques", True), ("the time base of the log", False)):
        corrected = [one for one in mended if (one.code == "delay") == delayed]
        if corrected:
            yield Reason(WITH_CARE, "corrected", f"{what} was corrected ({about(corrected)})")
    for where, code, found in (
        ("the log", "input", input_findings),
        ("the log to validate on", "validation-input", validation_findings),
    ):
        warned = [one for one in found if one.level == "warning" and not one.corrected]
        if warned:
            yield Reason(WITH_CARE, code, f"{where} may be wrong ({about(warned)})")


def _of_estimate(
    numbers: Numbers, findings: Iterable[Finding], *, physical: bool
) -> Iterator[Reason]:
    """What is doubtful about the estimate itself."""
    if not physical:
        yield Reason(WITH_CARE, "not-physical", "the parameters are those of no physical robot")
    if not numbers.tested:
        words = "it could not be tested: the log is too short to leave parts of it out"
        yield Reason(WITH_CARE, "not-tested", words)
    doubts = [one for one in findings if one.alarming and one.code in DOUBTS]
    if doubts:
        yield Reason(WITH_CARE, "doubts", f"warnings say why ({about(doubts)})")
