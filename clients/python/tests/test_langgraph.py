"""The saver for LangGraph, compared with LangGraph's own in-memory saver and tested by its conformance suite.

These tests need packages. `npm run test:matrix -- python` installs them; elsewhere, tests without their package are
skipped with the reason.
"""

from __future__ import annotations

import asyncio
import importlib.util
import multiprocessing
import random
import time
import unittest
import uuid
from typing import Any

from tidemark import StateStore, TidemarkError

from .case import PATIENCE_SECONDS, StoreCase, new_name
from .servers import Server, shared_server


def _has(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


HAS_CHECKPOINT = _has("langgraph.checkpoint.base")
HAS_CONFORMANCE = _has("langgraph.checkpoint.conformance")
HAS_GRAPH = _has("langgraph.graph") and _has("langchain_protocol")
CONFORMANCE_TESTS = 89
"""The number of tests of langgraph-checkpoint-conformance 0.0.2. Fewer would mean that some were not run."""

needs_checkpoint = unittest.skipUnless(HAS_CHECKPOINT, "langgraph-checkpoint is not installed")
needs_conformance = unittest.skipUnless(HAS_CONFORMANCE, "langgraph-checkpoint-conformance is not installed")
needs_graph = unittest.skipUnless(HAS_GRAPH, "langgraph is not installed")

LARGE = "x" * 20_000
"""Too large for the record of its checkpoint."""


def prose(seed: int, words: int) -> str:
    """Returns text that is different for each seed."""
    rng = random.Random(f"prose {seed}")
    return " ".join(f"{rng.randrange(50_000):x}" for _ in range(words))


def thread_of(thread: str, id: str | None = None, namespace: str = "") -> Any:
    names = {"thread_id": thread, "checkpoint_ns": namespace}
    return {"configurable": names if id is None else {**names, "checkpoint_id": id}}


def checkpoint_of(values: dict[str, Any], versions: dict[str, int] | None = None) -> Any:
    from langgraph.checkpoint.base import empty_checkpoint

    versions = {name: 1 for name in values} if versions is None else versions
    return {**empty_checkpoint(), "channel_values": values, "channel_versions": versions}


def put_in_process(url: str, thread: str, parent: str, text: str, results: Any) -> None:
    """Continues a fenced thread from its own process."""
    from tidemark.langgraph import TidemarkSaver

    with TidemarkSaver(url, fence=True) as saver:
        try:
            stored = saver.put(thread_of(thread, parent), checkpoint_of({"text": text}), {"step": 1}, {"text": 1})
            results.put(("stored", stored["configurable"]["checkpoint_id"]))
        except TidemarkError as error:
            results.put((error.code, None))


class SaverCase(StoreCase):
    async def asyncSetUp(self) -> None:
        await super().asyncSetUp()
        from tidemark.langgraph import TidemarkSaver

        self.new_saver = lambda **options: TidemarkSaver(self.store, **options)
        self.saver = self.new_saver()

    async def put(self, config: Any, values: dict[str, Any], versions: dict[str, int] | None = None, **more: Any) -> Any:
        """Stores a checkpoint. `changed` names the channels that changed; all by default."""
        metadata = {"source": "loop", "step": 1, "parents": {}, **more.get("metadata", {})}
        checkpoint = checkpoint_of(values, versions)
        changed = {name: checkpoint["channel_versions"][name] for name in more.get("changed", values)}
        return await more.get("saver", self.saver).aput(config, checkpoint, metadata, changed)

    async def size(self, thread: str) -> int:
        """Returns the number of bytes in the records of a thread."""
        size = 0
        for root in ("cp", "blob"):
            async for _, record in self.store.kv.scan(f"tidemark.langgraph.{root}.{thread}."):
                size += sum(map(len, record.fields.values()))
        return size

    async def keys(self, prefix: str) -> list[str]:
        return [key async for key in self.store.kv.scan_keys(prefix)]


@needs_checkpoint
class Checkpoints(SaverCase):
    async def test_share_large_values_that_a_step_did_not_change(self) -> None:
        thread = new_name("thread")
        config = await self.put(thread_of(thread), {"text": LARGE, "step": 0}, {"text": 1, "step": 1})
        for step in range(1, 5):
            versions = {"text": 1, "step": step + 1}
            # Another saver has not seen the parent and reads where its values are.
            saver = self.new_saver() if step == 3 else self.saver
            config = await self.put(config, {"text": LARGE, "step": step}, versions, changed=["step"], saver=saver)
        self.assertEqual(len(await self.keys(f"tidemark.langgraph.blob.{thread}.")), 1)
        found = await self.saver.aget_tuple(thread_of(thread))
        self.assertEqual(found.checkpoint["channel_values"], {"text": LARGE, "step": 4})

    async def test_store_only_what_is_new_in_a_growing_value(self) -> None:
        thread = new_name("thread")
        config, log, whole = thread_of(thread), [], 0
        configs = []
        for turn in range(60):
            log.append(prose(turn, 100))
            whole += len("".join(log))
            # Every tenth checkpoint is stored by a saver that has not seen the others.
            saver = self.new_saver() if turn % 10 == 9 else self.saver
            config = await self.put(config, {"log": [*log]}, {"log": turn}, saver=saver)
            configs.append(config)
        self.assertLess(await self.size(thread), whole / 4)
        reader = self.new_saver()
        for at in (59, 0, 31):
            found = await reader.aget_tuple(configs[at])
            self.assertEqual(found.checkpoint["channel_values"], {"log": log[: at + 1]})
        self.assertEqual(len([it async for it in reader.alist(thread_of(thread))]), 60)
        await self.saver.aprune([thread])
        self.assertLess(await self.size(thread), 2 * len("".join(log)) + 5_000)
        copy = new_name("copy")
        await self.saver.acopy_thread(thread, copy)
        await self.saver.adelete_thread(thread)
        self.assertEqual(await self.keys(f"tidemark.langgraph.cp.{thread}."), [])
        found = await self.new_saver().aget_tuple(thread_of(copy))
        self.assertEqual(found.checkpoint["channel_values"], {"log": log})

    async def test_keep_their_values_whatever_changes_and_is_pruned(self) -> None:
        for seed in range(6):
            thread, rng = new_name("thread"), random.Random(seed)
            stored: dict[str, list[str]] = {}
            config, saver = thread_of(thread), self.new_saver()
            for step in range(25):
                log = [*stored.get(config["configurable"].get("checkpoint_id", ""), [])]
                at = rng.randrange(len(log) + 1)
                change = rng.choice(["append", "append", "insert", "remove", "restart", "prune", "fork"])
                if change == "append":
                    log.append(prose(step, rng.choice([5, 100, 2_500])))
                elif change == "insert":
                    log.insert(at, prose(step, 60))
                elif change == "remove":
                    del log[at : at + 2]
                elif change == "restart":
                    saver = self.new_saver()
                elif change == "prune":
                    await saver.aprune([thread])
                    left = {it.config["configurable"]["checkpoint_id"] async for it in saver.alist(thread_of(thread))}
                    stored = {id: it for id, it in stored.items() if id in left}
                    config = thread_of(thread, max(stored, default=None))
                    continue
                elif stored:
                    config = thread_of(thread, rng.choice(sorted(stored)))
                    log = [*stored[config["configurable"]["checkpoint_id"]], "fork"]
                config = await self.put(config, {"log": log}, {"log": step}, saver=saver)
                stored[config["configurable"]["checkpoint_id"]] = log
            for reader in (saver, self.new_saver()):
                for id, log in stored.items():
                    found = await reader.aget_tuple(thread_of(thread, id))
                    self.assertEqual(found.checkpoint["channel_values"], {"log": log})

    async def test_with_the_id_of_another_one_leave_its_blobs(self) -> None:
        thread = new_name("thread")
        config, log, configs = thread_of(thread), [], []
        for turn in range(6):
            log.append(prose(turn, 100))
            config = await self.put(config, {"log": [*log]}, {"log": turn})
            configs.append(config)
        again = {**checkpoint_of({"log": [prose(99, 300)]}, {"log": 4}), "id": configs[4]["configurable"]["checkpoint_id"]}
        await self.new_saver().aput(configs[3], again, {"source": "loop", "step": 4, "parents": {}}, {"log": 4})
        found = await self.new_saver().aget_tuple(configs[5])
        self.assertEqual(found.checkpoint["channel_values"], {"log": log})

    async def test_have_any_size_and_any_name(self) -> None:
        config = thread_of("ü" * 400 + new_name("thread"), namespace="deep|" * 200)
        stored = await self.put(config, {"text": "x" * 5_000_000, "c" * 700: 1, "nul \0": "\0"})
        found = await self.saver.aget_tuple(config)
        self.assertEqual(found.config, stored)
        values = found.checkpoint["channel_values"]
        self.assertEqual((len(values["text"]), values["c" * 700], values["nul \0"]), (5_000_000, 1, "\0"))
        listed = [it async for it in self.saver.alist({"configurable": {"thread_id": config["configurable"]["thread_id"]}})]
        self.assertEqual([it.config for it in listed], [stored])

    async def test_of_a_deleted_thread_leave_nothing_behind(self) -> None:
        thread = new_name("thread")
        stored = await self.put(thread_of(thread), {"text": LARGE})
        await self.saver.aput_writes(stored, [("a", LARGE * 12)], "task")
        await self.put(thread_of(thread, namespace="child"), {"text": LARGE})
        await self.put(thread_of(thread, namespace="fenced"), {"text": LARGE}, saver=self.new_saver(fence=True))
        # Writes of a checkpoint that was never stored, and the mark of a fence.
        await self.saver.aput_writes(thread_of(thread, "1f0-never"), [("a", LARGE * 12)], "task")
        await self.store.kv.set_fields(f"tidemark.langgraph.cp.{thread}.=.1f0-fenced.c", {"fenced": "by"})
        await self.saver.adelete_thread(thread)
        for root in ("cp", "blob", "head"):
            self.assertEqual(await self.keys(f"tidemark.langgraph.{root}.{thread}."), [])
        self.assertIsNone(await self.saver.aget_tuple(thread_of(thread)))

    async def test_keep_the_first_write_of_a_task(self) -> None:
        stored = await self.put(thread_of(new_name("thread")), {"a": 1})
        savers = [self.new_saver() for _ in range(6)]
        pairs = [[("a", f"a{at}"), ("b", f"{LARGE * 12}{at}")] for at in range(6)]
        await asyncio.gather(*(it.aput_writes(stored, pair, "task") for it, pair in zip(savers, pairs, strict=True)))
        await self.saver.aput_writes(stored, [("__error__", "first")], "task")
        await self.saver.aput_writes(stored, [("__error__", "second")], "task")
        writes = (await self.saver.aget_tuple(stored)).pending_writes
        self.assertEqual([channel for _, channel, _ in writes], ["__error__", "a", "b"])
        self.assertEqual(writes[0][2], "second")
        self.assertEqual(writes[1][2][-1], writes[2][2][-1])

    async def test_survive_the_pruning_of_their_parent(self) -> None:
        thread = new_name("thread")
        root = await self.put(thread_of(thread), {"text": LARGE, "step": 0})
        await self.put(root, {"text": "newest", "step": 0}, {"text": 2, "step": 1}, changed=["text"])
        late = self.new_saver()
        # It has read which values the parent has, and the parent is pruned before it refers to them.
        await late._known(*self._branch_and_id(root))
        await self.saver.aprune([thread])
        stored = await self.put(root, {"text": LARGE, "step": 1}, {"text": 1, "step": 2}, changed=["step"], saver=late)
        found = await self.saver.aget_tuple(stored)
        self.assertEqual(found.checkpoint["channel_values"], {"text": LARGE, "step": 1})

    async def test_survive_that_their_parent_was_stored_again(self) -> None:
        thread = new_name("thread")
        log = [prose(turn, 100) for turn in range(8)]
        root = await self.put(thread_of(thread), {"log": log})
        late = self.new_saver()
        dropped = await late.aget_tuple(root)
        await self.put(root, {"log": ["newest"]}, {"log": 2})
        await self.saver.aprune([thread])
        # The same checkpoint is stored again, with other blobs than those that `late` remembers.
        await self.new_saver().aput(thread_of(thread), dropped.checkpoint, dropped.metadata, {"log": 1})
        stored = await self.put(root, {"log": [*log, "late"]}, {"log": 3}, saver=late)
        found = await self.new_saver().aget_tuple(stored)
        self.assertEqual(found.checkpoint["channel_values"], {"log": [*log, "late"]})

    async def test_are_pruned_without_those_that_delta_channels_need(self) -> None:
        thread = new_name("thread")
        counters = {"counters_since_delta_snapshot": {"log": [1, 1]}}
        config = await self.put(thread_of(thread), {"log": "too old"})
        config = await self.put(config, {"log": "seed"}, {"log": 2}, metadata=counters)
        for at, word in enumerate(["one", "two", "three"]):
            await self.saver.aput_writes(config, [("log", word)], "task")
            config = await self.put(config, {"step": word}, {"step": at}, metadata=counters)
        before = await self.saver.aget_delta_channel_history(config=config, channels=["log"])
        self.assertEqual([value for _, _, value in before["log"]["writes"]], ["one", "two", "three"])
        await self.saver.aprune([thread])
        self.assertEqual(len([it async for it in self.saver.alist(thread_of(thread))]), 4)
        after = await self.saver.aget_delta_channel_history(config=config, channels=["log"])
        self.assertEqual(after, before)

    async def test_name_what_is_missing(self) -> None:
        failure = await self.failure_of(self.put({"configurable": {}}, {"a": 1}))
        self.assertEqual((failure.code, failure.field), ("INVALID_ARGUMENT", "configurable.thread_id"))
        thread = new_name("thread")
        stored = await self.put(thread_of(thread), {"text": LARGE})
        for key in await self.keys(f"tidemark.langgraph.blob.{thread}."):
            await self.store.kv.delete(key)
        # The saver that stored the value still has it.
        self.assertEqual((await self.failure_of(self.new_saver().aget_tuple(stored))).code, "CORRUPT_VALUE")

    async def test_equal_those_of_the_saver_in_memory_after_random_calls(self) -> None:
        from langgraph.checkpoint.memory import InMemorySaver

        for seed in range(12):
            await self._compare(random.Random(seed), InMemorySaver())

    async def _compare(self, chance: random.Random, oracle: Any) -> None:
        run = new_name("run")
        configs: list[Any] = []
        for _ in range(30):
            action = chance.choice(["put", "put", "put", "writes", "get", "list", "delete"])
            namespace = chance.choice(["", "child:1"])
            thread = f"{run}-{chance.randrange(2)}"
            if action == "put":
                parents = [it for it in configs if it["configurable"]["thread_id"] == thread]
                parents = [it for it in parents if it["configurable"]["checkpoint_ns"] == namespace]
                parent = chance.choice(parents[-3:]) if parents else None
                config = parent or thread_of(thread, namespace=namespace)
                held = (await self.saver.aget_tuple(parent)) if parent else None
                values = dict(held.checkpoint["channel_values"]) if held else {}
                versions = dict(held.checkpoint["channel_versions"]) if held else {}
                changed = chance.sample(["a", "b", "c"], chance.randint(1, 3))
                for name in changed:
                    # As LangGraph's savers do, versions are never used twice in a thread.
                    versions[name] = time.monotonic_ns()
                    values[name] = chance.choice([None, chance.random(), LARGE + str(chance.random()), {"deep": [1]}])
                checkpoint = checkpoint_of(values, versions)
                metadata = {"source": "loop", "step": chance.randrange(3), "parents": {}}
                new = {name: versions[name] for name in changed}
                stored = await self.saver.aput(config, checkpoint, metadata, new)
                self.assertEqual(stored, oracle.put(config, checkpoint, metadata, new))
                configs.append(stored)
            elif action == "writes" and configs:
                config = chance.choice(configs)
                writes = [(chance.choice(["a", "__error__", "__resume__"]), chance.random()) for _ in range(2)]
                task = f"task-{chance.randrange(2)}"
                await self.saver.aput_writes(config, writes, task)
                oracle.put_writes(config, writes, task)
            elif action == "delete" and chance.random() < 0.2:
                await self.saver.adelete_thread(thread)
                oracle.delete_thread(thread)
                configs = [it for it in configs if it["configurable"]["thread_id"] != thread]
            elif action == "list":
                options = {"filter": {"step": 1}} if chance.random() < 0.5 else {"limit": 3}
                ours = [it async for it in self.saver.alist(thread_of(thread, namespace=namespace), **options)]
                theirs = list(oracle.list(thread_of(thread, namespace=namespace), **options))
                self.assertEqual([_plain(it) for it in ours], [_plain(it) for it in theirs])
            elif configs:
                config = chance.choice([*configs, thread_of(thread, namespace=namespace)])
                ours, theirs = await self.saver.aget_tuple(config), oracle.get_tuple(config)
                self.assertEqual(ours and _plain(ours), theirs and _plain(theirs))

    def _branch_and_id(self, config: Any) -> Any:
        from tidemark.langgraph.configs import branch_of, checkpoint_id_of

        return branch_of(config), checkpoint_id_of(config)


def _plain(found: Any) -> Any:
    """The in-memory saver lists writes in the order of the calls."""
    return [*found[:4], sorted(found.pending_writes, key=str)]


@needs_checkpoint
class FencedThreads(SaverCase):
    async def test_are_continued_by_one_of_several_writers(self) -> None:
        thread = new_name("thread")
        root = await self.put(thread_of(thread), {"a": 0}, saver=self.new_saver(fence=True))
        for _ in range(5):
            savers = [self.new_saver(fence=True) for _ in range(4)]
            results = await asyncio.gather(
                *(self.put(root, {"a": at}, saver=it) for at, it in enumerate(savers)), return_exceptions=True
            )
            winners = [it for it in results if not isinstance(it, BaseException)]
            self.assertEqual([it.code for it in results if isinstance(it, TidemarkError)], ["CONFLICT"] * 3)
            self.assertEqual(len(winners), 1)
            root = winners[0]
            latest = await self.saver.aget_tuple(thread_of(thread))
            self.assertEqual(latest.config, root)

    async def test_are_continued_after_a_writer_that_claimed_and_died(self) -> None:
        from tidemark.langgraph.configs import branch_of
        from tidemark.langgraph.fence import claim_head

        thread = new_name("thread")
        saver = self.new_saver(fence=True)
        root = await self.put(thread_of(thread), {"a": 0}, saver=saver)
        late = checkpoint_of({"a": 1})
        parent = root["configurable"]["checkpoint_id"]
        await claim_head(self.store.kv, branch_of(root), parent, late["id"])
        stored = await self.put(root, {"a": 2}, saver=self.new_saver(fence=True))
        # The writer that claimed was only slow. It detects that it has lost, and stores nothing.
        failure = await self.failure_of(saver.aput(root, late, {"step": 1}, {"a": 1}))
        self.assertEqual(failure.code, "CONFLICT")
        self.assertEqual([it.config for it in [x async for x in self.saver.alist(thread_of(thread))]], [stored, root])

    async def test_are_continued_by_one_of_two_processes(self) -> None:
        server = shared_server()
        thread = new_name("thread")
        root = await self.put(thread_of(thread), {"a": 0}, saver=self.new_saver(fence=True))
        context = multiprocessing.get_context("spawn")
        results = context.Queue()
        arguments = (server.url, thread, root["configurable"]["checkpoint_id"])
        processes = [context.Process(target=put_in_process, args=(*arguments, f"t{at}", results)) for at in range(2)]
        for process in processes:
            process.start()
        outcomes = [await asyncio.to_thread(results.get, timeout=120) for _ in processes]
        for process in processes:
            process.join()
        self.assertEqual(sorted(code for code, _ in outcomes), ["CONFLICT", "stored"])
        (winner,) = [id for code, id in outcomes if code == "stored"]
        latest = await self.saver.aget_tuple(thread_of(thread))
        self.assertEqual(latest.config["configurable"]["checkpoint_id"], winner)


@needs_checkpoint
class SynchronousCalls(unittest.TestCase):
    def test_do_what_the_asynchronous_ones_do(self) -> None:
        from tidemark.langgraph import TidemarkSaver

        thread = new_name("thread")
        store = StateStore(shared_server().url, timeout=PATIENCE_SECONDS)
        saver = TidemarkSaver(store)
        stored = saver.put(thread_of(thread), checkpoint_of({"a": LARGE}), {"step": 1, "run_id": "r"}, {"a": 1})
        saver.put_writes(stored, [("a", 2)], "task")
        self.assertEqual(saver.get_tuple(thread_of(thread)).pending_writes, [("task", "a", 2)])
        saver.copy_thread(thread, f"{thread}-copy")
        self.assertEqual([it.checkpoint["channel_values"] for it in saver.list(thread_of(f"{thread}-copy"))], [{"a": LARGE}])
        saver.delete_for_runs(["r"])
        self.assertIsNone(saver.get_tuple(thread_of(thread)))
        saver.prune([thread], strategy="delete")
        saver.delete_thread(f"{thread}-copy")
        self.assertEqual(list(saver.list(thread_of(thread))), [])
        saver.close()
        with TidemarkSaver(shared_server().url) as own:
            self.assertIsNone(own.get_tuple(thread_of(thread)))


@needs_conformance
class ConformanceSuite(unittest.IsolatedAsyncioTestCase):
    async def test_passes_completely(self) -> None:
        from langgraph.checkpoint.conformance import checkpointer_test, validate
        from tidemark.langgraph import TidemarkSaver

        server = Server()
        self.addCleanup(server.dispose)

        @checkpointer_test(name="TidemarkSaver")
        async def savers() -> Any:
            async with TidemarkSaver(server.url) as saver:
                yield saver

        report = await validate(savers)
        failures = [failure for result in report.results.values() for failure in result.failures or []]
        self.assertEqual(failures, [])
        passed = sum(result.tests_passed for result in report.results.values())
        self.assertGreaterEqual(passed, CONFORMANCE_TESTS)
        self.assertEqual([name for name, result in report.results.items() if not result.passed], [])


@needs_graph
class Graphs(SaverCase):
    async def test_stop_at_an_interrupt_and_go_on_from_another_saver(self) -> None:
        from typing import Annotated, TypedDict

        from langgraph.graph import END, START, StateGraph
        from langgraph.types import Command, interrupt

        class State(TypedDict):
            log: Annotated[list[str], lambda before, added: before + added]

        def ask(_: State) -> State:
            return {"log": [f"asked, {interrupt('May I?')}"]}

        def build(saver: Any) -> Any:
            builder = StateGraph(State)
            builder.add_node("plan", lambda _: {"log": ["planned"]})
            builder.add_node("ask", ask)
            builder.add_edge(START, "plan")
            builder.add_edge("plan", "ask")
            builder.add_edge("ask", END)
            return builder.compile(checkpointer=saver)

        config = {"configurable": {"thread_id": str(uuid.uuid4())}}
        await build(self.saver).ainvoke({"log": []}, config)
        result = await build(self.new_saver()).ainvoke(Command(resume="yes"), config)
        self.assertEqual(result["log"], ["planned", "asked, yes"])
