"""PenguiFlow with this client: flows, planners, sessions and artifacts. Runs only if PenguiFlow is
installed."""

from __future__ import annotations

import asyncio
import json
import unittest
from importlib.util import find_spec
from typing import Any

from tidemark import StateStore

from .case import PATIENCE_SECONDS, StoreCase, new_name
from .servers import shared_server

if find_spec("penguiflow") is None:
    raise unittest.SkipTest("PenguiFlow is not installed")

from penguiflow import Headers, Message, ModelRegistry, Node, create
from penguiflow.admin import load_state_store, render_events
from penguiflow.artifacts import ArtifactStore, ScopedArtifacts, discover_artifact_store
from penguiflow.catalog import build_catalog
from penguiflow.planner import PlannerEvent, PlannerPause, ReactPlanner, Trajectory
from penguiflow.sessions import StreamingSession
from penguiflow.state import (
    RemoteBinding,
    StateUpdate,
    SteeringEvent,
    SteeringEventType,
    StoredEvent,
    SupportsArtifacts,
    SupportsMemoryState,
    SupportsPlannerEvents,
    SupportsPlannerState,
    SupportsSteering,
    SupportsTasks,
    SupportsTrajectories,
    TaskContextSnapshot,
    TaskState,
    TaskStatus,
    TaskType,
    UpdateType,
)
from penguiflow.state import StateStore as StateStoreProtocol
from pydantic import BaseModel


class Question(BaseModel):
    text: str


class Answer(BaseModel):
    raw_answer: str


class ScriptedModel:
    """A language model with prepared answers."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self._answers = [json.dumps(it) for it in answers]

    async def complete(self, **_: Any) -> tuple[str, float]:
        return self._answers.pop(0), 0.0


async def ask_somebody(question: Question, context: Any) -> Answer:
    await context.pause("approval_required", {"question": question.text})
    return Answer(raw_answer="approved")


def create_store() -> StateStore:
    return StateStore(shared_server().url, timeout=PATIENCE_SECONDS)


class Protocols(StoreCase):
    async def test_are_all_implemented(self) -> None:
        protocols = [StateStoreProtocol, SupportsPlannerState, SupportsMemoryState, SupportsTasks, SupportsSteering]
        for protocol in [*protocols, SupportsTrajectories, SupportsPlannerEvents, SupportsArtifacts]:
            self.assertIsInstance(self.store, protocol)
        self.assertIsInstance(self.store.artifact_store, ArtifactStore)
        self.assertIs(discover_artifact_store(self.store), self.store.artifact_store)


class Objects(StoreCase):
    """PenguiFlow's data is returned as objects of its own classes, equal to the saved ones."""

    async def test_of_flows(self) -> None:
        trace = new_name("trace")
        event = StoredEvent(trace, 1.5, "node_end", "n", "id", {"a": 1})
        binding = RemoteBinding(trace, None, "t", "http://a")
        await self.store.save_event(event)
        await self.store.save_remote_binding(binding)
        self.assertEqual(await self.store.load_history(trace), [event])
        self.assertEqual(await self.store.list_remote_bindings(trace), [binding])

    async def test_of_sessions(self) -> None:
        session = new_name("session")
        snapshot = TaskContextSnapshot(session_id=session, task_id="t", llm_context={"a": [1]})
        task = TaskState("t", session, TaskStatus.RUNNING, TaskType.BACKGROUND, 2, snapshot, progress={"done": 1})
        update = StateUpdate(session_id=session, task_id="t", update_type=UpdateType.RESULT, content={"x": None})
        approve = SteeringEventType.APPROVE
        steering = SteeringEvent(session_id=session, task_id="t", event_type=approve, payload={"ok": True})
        await self.store.save_task(task)
        await self.store.save_update(update)
        await self.store.save_steering(steering)
        self.assertEqual(await self.store.list_tasks(session), [task])
        self.assertEqual(await self.store.list_updates(session), [update])
        self.assertEqual(await self.store.list_steering(session), [steering])

    async def test_of_planners(self) -> None:
        session, trace = new_name("session"), new_name("trace")
        trajectory = Trajectory(query="q", llm_context={"a": 1}, tool_context={"b": 2}, metadata={"c": 3})
        event = PlannerEvent("step_start", 1.0, 0, thought="hm", extra={"d": 4})
        await self.store.save_trajectory(trace, session, trajectory)
        await self.store.save_planner_event(trace, event)
        stored = await self.store.get_trajectory(trace, session)
        self.assertIsInstance(stored, Trajectory)
        self.assertEqual(stored.serialise(), trajectory.serialise())
        self.assertEqual(await self.store.list_planner_events(trace), [event])


class Flows(StoreCase):
    async def test_keep_their_history(self) -> None:
        async def echo(message: Message, _: Any) -> Message:
            return message

        flow = create(Node(echo, name="echo").to(), state_store=self.store)
        flow.run()
        message = Message(payload="hello", headers=Headers(tenant="acme"), trace_id=new_name("trace"))
        await flow.emit(message)
        self.assertEqual((await flow.fetch()).payload, "hello")
        await flow.stop()
        history = await flow.load_history(message.trace_id)
        self.assertTrue({"node_start", "node_success"} <= {it.kind for it in history})
        self.assertEqual([it.ts for it in history], sorted(it.ts for it in history))

        store = await load_state_store(f"{__name__}:create_store")
        lines = render_events(await store.load_history(message.trace_id), tail=1)
        self.assertEqual(json.loads(lines[0])["trace_id"], message.trace_id)
        await store.close()  # type: ignore[attr-defined]


class Planners(StoreCase):
    def planner(self, *answers: dict[str, Any]) -> ReactPlanner:
        registry = ModelRegistry()
        registry.register("ask", Question, Answer)
        catalog = build_catalog([Node(ask_somebody, name="ask")], registry)
        model = ScriptedModel(*answers)
        return ReactPlanner(llm_client=model, catalog=catalog, pause_enabled=True, state_store=self.store)

    async def test_pause_in_one_process_and_resume_in_another_once(self) -> None:
        ask = {"thought": "ask", "next_node": "ask", "args": {"text": "may I?"}}
        pause = await self.planner(ask).run("please")
        self.assertIsInstance(pause, PlannerPause)
        finish = {"thought": "done", "next_node": None, "args": {"raw_answer": "granted"}}
        planners = [self.planner(finish) for _ in range(4)]
        outcomes = await asyncio.gather(
            *(it.resume(pause.resume_token, user_input="yes") for it in planners), return_exceptions=True
        )
        resumed = [it for it in outcomes if not isinstance(it, BaseException)]
        self.assertEqual([it.payload["raw_answer"] for it in resumed], ["granted"])
        self.assertEqual({type(it) for it in outcomes if isinstance(it, BaseException)}, {KeyError})


class Sessions(StoreCase):
    async def test_are_restored_in_another_process(self) -> None:
        async def work(runtime: Any) -> str:
            runtime.emit_update(UpdateType.PROGRESS, {"done": 1})
            return "result"

        session = StreamingSession(new_name("session"), state_store=self.store)
        await session.run_task(work, task_id="task", query="q")
        while not (updates := await self.store.list_updates(session.session_id)):
            await asyncio.sleep(0.01)
        self.assertIsInstance(updates[0], StateUpdate)
        again = StreamingSession(session.session_id, state_store=self.store)
        await again.hydrate()
        task = await again.get_task("task")
        assert task is not None
        self.assertEqual((task.status, task.context_snapshot.query), (TaskStatus.COMPLETE, "q"))


class Scopes(StoreCase):
    async def test_keep_sessions_apart(self) -> None:
        def of(session: str) -> ScopedArtifacts:
            parts = {"tenant_id": "acme", "user_id": "u", "session_id": session, "trace_id": "t"}
            return ScopedArtifacts(self.store.artifact_store, **parts)

        first, second = of(new_name("session")), of(new_name("session"))
        ref = await first.upload(b"bytes", mime_type="image/png", namespace="tool", meta={"a": 1})
        self.assertEqual((await first.download(ref.id), await first.exists(ref.id)), (b"bytes", True))
        self.assertEqual(await first.list(), [ref])
        self.assertEqual((await second.download(ref.id), await second.list()), (None, []))
        self.assertFalse(await second.delete(ref.id))
        self.assertTrue(await first.delete(ref.id))
