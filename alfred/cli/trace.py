"""`alfred trace`: the path a turn took, step by step, without its words."""

from __future__ import annotations

import click

from alfred.cli.session import console, json_option, print_json, run_with_app


@click.command("trace")
@click.argument("turn_", metavar="[TURN]", default="last")
@click.option("--mermaid", is_flag=True, help="Draw the graph and the path taken, as Mermaid.")
@json_option
def command(turn_: str, *, mermaid: bool, as_json: bool) -> None:
    """Show each step of a TURN: outcome, reason, time and tokens; the newest by default.

    TURN is the beginning of a turn's id, or of its proposal's.
    """
    from alfred.app import App
    from alfred.cli.document import trace_document
    from alfred.cli.lookup import find_turn
    from alfred.engine.mermaid import flowchart
    from alfred.engine.trace import read_trace, transitions
    from alfred.graphs.proof import installed_edges
    from alfred.installed import load_builders, load_prefilter

    async def work(app: App) -> None:
        turn = await app.load_turn(await find_turn(app, turn_))
        events = await read_trace(app.database, app.user_id, turn.id)
        edges = installed_edges(load_builders(app.domains), load_prefilter(app.registry))
        taken = transitions(events, edges)
        if mermaid:
            click.echo(flowchart(edges, taken))
            return
        if as_json:
            print_json(trace_document(turn, events, taken))
            return
        out = console()
        out.print(f"turn {turn.id}  {turn.state}, {turn.outcome or 'no outcome yet'}", markup=False)
        if turn.problem:
            out.print(f"  {turn.problem}", style="yellow", markup=False)
        for happened in events:
            tokens = happened["prompt_tokens"] + happened["completion_tokens"]
            cost = f"{happened['milliseconds'] / 1000:.1f} s" if happened["milliseconds"] else ""
            cost += f", {tokens} tokens" if tokens else ""
            out.print(
                f"  {happened['instance']:<20} {happened['outcome']:<10} {happened['reason']:<22}"
                f" {cost}",
                markup=False,
            )
        for step in taken:
            reason = f"  ({step.reason})" if step.reason else ""
            out.print(f"  {step.source} → {step.target}{reason}", style="dim", markup=False)

    run_with_app(work)
