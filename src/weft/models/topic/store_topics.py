"""The topics of all sentences of a token store; several processes compute those of a large store."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from weft.corpora.process_pool import map_in_order
from weft.corpora.store.token_store import TokenStore
from weft.corpora.text.tokenizers import Tokenizer
from weft.io.cpu_cores import usable_cores
from weft.models.common.hidden_markov import Reals
from weft.models.topic.hmm_lda import HmmLda
from weft.progress import Progress, silent

PARAGRAPHS_AT_ONCE = 2000  # per batch of word counts
WORTH_A_WORKER = 100_000  # sentences; fewer take less time than starting a process
IF_STOPPED = "run it again where more memory is free, or on fewer cores (taskset -c 0-3 weft train …)"


def store_topics(
    model: HmmLda,
    store: TokenStore,
    *,
    backwards: bool,
    peek: bool,
    workers: int | None = None,
    progress: Progress = silent,
) -> Reals:
    """Return the topics of each sentence of a store, in float16: [sentences, topics].

    Args:
        model: The topic model.
        store: The token store.
        backwards: Whether paragraphs are read in reverse.
        peek: Whether the topics of a sentence are computed from that sentence too.
        workers: Number of processes; by default one per core, and one for a small store. It affects only the time.
        progress: Called with the number of sentences done.

    Raises:
        WorkerStoppedError: A process died.
    """
    found = np.empty((store.sentence_count, model.settings.topics), dtype=np.float16)
    starts = range(0, store.paragraph_count, PARAGRAPHS_AT_ONCE)
    ranges = [range(start, min(start + PARAGRAPHS_AT_ONCE, store.paragraph_count)) for start in starts]
    chosen = workers if workers is not None else default_workers(store.sentence_count)
    job = TopicJob(model, store.folder, backwards, peek)
    done = 0
    for part in map_in_order(job, ranges, workers=min(chosen, len(ranges)), next_step=IF_STOPPED):
        found[done : done + len(part)] = part
        done += len(part)
        progress("finding topics", done, store.sentence_count)
    return found


def default_workers(sentences: int) -> int:
    """Return one process per core, or fewer if there is little work.

    Example:
        >>> default_workers(1000)
        1
    """
    if multiprocessing.current_process().daemon:  # a worker cannot start processes
        return 1
    cores = usable_cores()
    # All processes of a distributed run on this machine compute topics at the same time.
    beside = os.environ.get("LOCAL_WORLD_SIZE", "")
    share = cores // max(1, int(beside)) if beside.isdecimal() else cores
    return max(1, min(share, sentences // WORTH_A_WORKER))


@dataclass(frozen=True, slots=True)
class TopicJob:
    """The job of a worker, which opens the store itself."""

    model: HmmLda
    folder: Path  # of the store
    backwards: bool
    peek: bool

    def start(self) -> Callable[[range], npt.NDArray[np.float16]]:
        """Open the store; return a function that computes the topics of a range of paragraphs."""
        store = TokenStore(self.folder)
        tokenizer = store.tokenizer()
        return lambda paragraphs: self._topics(store, tokenizer, paragraphs)

    def _topics(self, store: TokenStore, tokenizer: Tokenizer, paragraphs: range) -> npt.NDArray[np.float16]:
        """Return the topics of the sentences of some paragraphs, in the order of the store: [sentences, topics]."""
        spans = [store.paragraph(number) for number in paragraphs]
        order = np.array([n for span in spans for n in (reversed(span) if self.backwards else span)], dtype=np.int64)
        texts = iter([tokenizer.decode(store.sentence(number).tolist()) for number in order])
        documents = [list(islice(texts, len(span))) for span in spans]
        topics = self.model.topics_of_documents(documents, kind="filtered" if self.peek else "predicted")
        found = np.empty(topics.shape, dtype=np.float16)
        found[order - spans[0].start] = topics
        return found
