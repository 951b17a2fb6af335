"""The standard data sets: where their files lie in the data folder, and the hashes of these files."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from weft.evaluation.task_contract import DataSet

# Sets of short texts, whose order with nothing given is searched as `weft order` does it: exactly up to 12 sentences.
_order_set = partial(DataSet, search="auto")

DATA_SETS: Mapping[str, DataSet] = {
    "wikipedia": DataSet(
        "984 Wikipedia paragraphs",
        "wikipedia/test.paragraphs.jsonl",
        "55c80366a0a0102d1e5e1a67b28309e42b0c9dc4a7fe9b7801777f379a7caae1",
    ),
    "wikipedia-pages": DataSet(
        "Wikipedia pages with 76,800 contexts to continue",
        "wikipedia/adversary.jsonl.xz",
        "e8a6e312e1d99891edf7f1372e30b542f9dd7d4fe16af84d20ada7dc406d7aeb",
    ),
    "accidents": DataSet(
        "NTSB accident reports with published permutations",
        "barzilay_lapata/accidents.test.jsonl",
        "23cd70d0905ee36a7f2910ddc8d716ca77a70fbe21dda7eb4f6843be4e7a2f57",
        domain="ntsb",
    ),
    "earthquakes": DataSet(
        "AP earthquake reports with published permutations",
        "barzilay_lapata/earthquakes.test.jsonl",
        "77e9c25e1c455860ad13fda6e29efb1286dfbe450e61df36bd021e6dfc52b1e1",
        domain="apws",
    ),
    "earthquakes-without-slug": DataSet(
        "AP earthquake reports without their slug lines, with the published permutations of the other sentences",
        "barzilay_lapata/earthquakes.test.jsonl",
        "77e9c25e1c455860ad13fda6e29efb1286dfbe450e61df36bd021e6dfc52b1e1",
        domain="apws",
        without_slug=True,
    ),
    "miniatures": DataSet(
        "the paper's seven pairs",
        "miniatures.jsonl",
        "796f231e0f5accb089003894a236b88c9addad1f6dad5475776c2c340dacd102",
        shipped=True,
    ),
    "probes": DataSet(
        "322 minimal pairs",
        "probes.jsonl",
        "48678a63597b7c415d0115ce7cc8747bccbc83dc02307a5f334ec166e17ca29f",
        shipped=True,
    ),
    "genres": _order_set(
        "3,682 excerpts of 5 to 20 sentences in 19 genres",
        "genres/test.jsonl.xz",
        "ab81bdea58fc684b4aa2144a7ccea4d8624859227b29987bc851c6ed860d1d7e",
    ),
    "genres-dev": _order_set(
        "1,458 excerpts in the same genres, for tuning",
        "genres/dev.jsonl.xz",
        "7a30e3bd37261d9e23a0dfc813ac2e57793ebf183fc720c7794ee6f8ae46bc55",
    ),
    "nips": _order_set(
        "408 abstracts of NIPS papers, lower-cased",
        "peers/order/nips.val.jsonl.xz",
        "5ff2797e765f2d5a9c84d2851388eafcae207cc9c191438cb97802b23c9ed1fc",
    ),
    "nips-train": _order_set(
        "2,427 further abstracts of NIPS papers, lower-cased",
        "peers/order/nips.train.jsonl.xz",
        "7df4c291debdc1669dc630d0209a9f7cc91fea1aae8aa252eefe769bc35fc27c",
    ),
    "sind": _order_set(
        "4,990 stories of five sentences about photographs, lower-cased",
        "peers/order/sind.val.jsonl.xz",
        "69a97a265e0a5aaed429288aac1dc075d7d094559f288025c52cfea8af482fba",
    ),
    "rocstories": _order_set(
        "9,816 stories of five sentences",
        "peers/order/rocstories.valid.jsonl.xz",
        "580eff8de119ee2fb026b7b6474ad5505edab6ddad2ce9b4bac5b08ee87f6e20",
    ),
    "storycloze-2016": DataSet(
        "1,871 stories of four sentences with a right and a wrong ending",
        "peers/cloze/storycloze.val2016.jsonl.xz",
        "43d4a19e1c6bb862d60a866b6bacd84b6dfc217c2d06aac267ff501cfba629dc",
    ),
    "storycloze-2018": DataSet(
        "1,571 stories of four sentences with a right and a wrong ending",
        "peers/cloze/storycloze.val2018.jsonl.xz",
        "3de9ec5960c8a9be6851f8a1bc8daff545faa0a1917240a31823c709621ee7af",
    ),
    "discoeval-sp-arxiv": DataSet(
        "DiscoEval, sentence position: 4,000 groups of five sentences of abstracts",
        "peers/discoeval/SP.arxiv.test.jsonl.xz",
        "605460c6f94fbc11791f61be810978b81676dea5ff3c57df587f261875397b56",
    ),
    "discoeval-sp-rocstory": DataSet(
        "DiscoEval, sentence position: 4,000 stories of five sentences",
        "peers/discoeval/SP.rocstory.test.jsonl.xz",
        "abd93336e2f1992bfb8562a17f952974f651c15f7f017bf50129eaa576252432",
    ),
    "discoeval-sp-wiki": DataSet(
        "DiscoEval, sentence position: 4,000 groups of five sentences of Wikipedia",
        "peers/discoeval/SP.wiki.test.jsonl.xz",
        "cf35a120b2dcd3739c35b866088f3823e22db272370bb2d1355dc60c0d2b7ea3",
    ),
    "discoeval-bso-arxiv": DataSet(
        "DiscoEval, binary sentence ordering: 4,000 pairs of neighbouring sentences of abstracts",
        "peers/discoeval/BSO.arxiv.test.jsonl.xz",
        "7124c72cf75908f466ec7f60ff29f01a136731458ee94cac182c35f55ad13f7f",
    ),
    "discoeval-bso-rocstory": DataSet(
        "DiscoEval, binary sentence ordering: 4,000 pairs of neighbouring sentences of stories",
        "peers/discoeval/BSO.rocstory.test.jsonl.xz",
        "2f5f34e64a4466b41f73e1eaa01de57b9f991b03bcf830aef26079cfd3453245",
    ),
    "discoeval-bso-wiki": DataSet(
        "DiscoEval, binary sentence ordering: 4,000 pairs of neighbouring sentences of Wikipedia",
        "peers/discoeval/BSO.wiki.test.jsonl.xz",
        "6825d87331e18e0854ebd33b8a15e0b849282f6d5cab6610c5ba0f4a491a819c",
    ),
    "discoeval-dc-chat": DataSet(
        "DiscoEval, discourse coherence: 2,418 pieces of chats, half with a strange sentence",
        "peers/discoeval/DC.chat.test.jsonl.xz",
        "d2904a47b75a4d7addfd9eec17d11e905fb481684c7a0932ca0745f8c436dc22",
    ),
    "discoeval-dc-wiki": DataSet(
        "DiscoEval, discourse coherence: 4,000 pieces of Wikipedia, half with a strange sentence",
        "peers/discoeval/DC.wiki.test.jsonl.xz",
        "31687c9cfcffe00828273d6ae35f4d88347b0487368fbc3d76aa9ca2b2d1e905",
    ),
    "cohesentia": DataSet(
        "434 generated stories rated by people, as a whole and sentence by sentence",
        "peers/human/cohesentia.jsonl.xz",
        "12c406abfb84aafa8a4f36bbc9a73c18b2fc8356f9d0bb746b64b138851e0d30",
    ),
}
