/// What the page looks like.
extension OperatorsPage {
    static let style = """
        :root { color-scheme: light dark; --line: #8884; --faint: #888; --bad: #d33; --warn: #c80; --good: #2a6; }
        body { font: 14px/1.45 system-ui, sans-serif; margin: 0 auto; padding: 1rem; max-width: 76rem; }
        header { display: flex; gap: 1rem; align-items: baseline; flex-wrap: wrap; }
        h1 { font-size: 1.2rem; margin: 0; } h2 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
        table { border-collapse: collapse; width: 100%; }
        th, td { text-align: left; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
        th { font-weight: 500; color: var(--faint); } .n { text-align: right; font-variant-numeric: tabular-nums; }
        button { font: inherit; padding: .1rem .6rem; margin-right: .3rem; }
        .grid { display: grid; grid-template-columns: repeat(auto-fit, minmax(21rem, 1fr)); gap: 1.2rem; }
        canvas { width: 100%; height: auto; image-rendering: pixelated; border: 1px solid var(--line); }
        .key span { display: inline-block; margin-right: 1rem; } .key i { display: inline-block; width: .8em; height: .8em; margin-right: .3em; }
        .state-up, .state-done { color: var(--good); } .state-dead, .state-failed { color: var(--bad); }
        .state-suspect, .state-cordoned, .state-draining, .state-drained, .state-running, .state-paused { color: var(--warn); }
        .bar { background: var(--line); height: .7em; min-width: 8rem; } .bar b { display: block; height: 100%; background: var(--good); }
        #fault { color: var(--bad); } .faint { color: var(--faint); } [hidden] { display: none !important; }
        """

    static let body = """
        <body>
        <header><h1>Roost</h1><span id="summary" class="faint"></span><span id="fault" role="alert"></span></header>
        <form id="login"><p><label>Operators' token <input id="token" type="password" autocomplete="off" required></label>
        <button>Open</button></p></form>
        <main id="main" hidden>
        <h2>Nodes</h2><table id="nodes"></table>
        <div class="grid">
        <section><h2>Conversation shards, by owner and load</h2>
        <canvas id="heat" width="256" height="256" aria-label="1,024 shards; the colour is the owner, the brightness the load, a white frame a move"></canvas>
        <p id="key" class="key"></p><p id="cell" class="faint"></p></section>
        <section><h2>Messages a second</h2><canvas id="rate" width="520" height="150"></canvas>
        <h2>Commits, 99th percentile, ms</h2><canvas id="late" width="520" height="150"></canvas></section>
        </div>
        <h2>Under way and done</h2><table id="operations"></table>
        <h2>Rebalance</h2><p><button id="plan">Plan</button><button id="apply" disabled>Apply</button><span id="planned" class="faint"></span></p>
        <table id="plans"></table>
        <h2>Who did what</h2><table id="audit"></table>
        </main>
        </body>
        """
}
