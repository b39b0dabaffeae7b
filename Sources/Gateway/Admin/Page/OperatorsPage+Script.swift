/// What the page does.
extension OperatorsPage {
    static let script = #"""
        'use strict';
        const $ = id => document.getElementById(id);
        const hues = [210, 30, 140, 280, 350, 60, 180, 320, 100, 240];
        let token = sessionStorage.getItem('roost-token') || '', names = [], shards = [], history = [], plan = null, timer = null;

        async function call(method, path, body) {
          const answer = await fetch('/admin/v1/' + path, { method,
            headers: { Authorization: 'Bearer ' + token, 'Content-Type': 'application/json', 'X-Roost-Operator': 'page' },
            body: body ? JSON.stringify(body) : undefined });
          const text = await answer.text(), value = text ? JSON.parse(text) : null;
          if (!answer.ok) throw Object.assign(new Error(value && (value.detail || value.title) || answer.status), { status: answer.status });
          return value;
        }
        // All text goes in as text: names of nodes and operators are not markup.
        function element(name, text, kind) {
          const node = document.createElement(name);
          if (text !== undefined) node.textContent = text;
          if (kind) node.className = kind;
          return node;
        }
        function table(id, titles, rows) {
          const head = element('tr');
          for (const [title, kind] of titles) head.append(element('th', title, kind));
          $(id).replaceChildren(head, ...rows.map(cells => {
            const row = element('tr');
            cells.forEach((cell, index) => {
              if (cell instanceof Node) { const td = element('td'); td.append(cell); row.append(td); }
              else row.append(element('td', cell === null || cell === undefined ? '–' : cell, titles[index][1]));
            });
            return row;
          }));
        }
        const number = (value, digits = 1) => value === null || value === undefined ? '–' : value.toFixed(digits);
        const hue = name => hues[Math.max(0, names.indexOf(name)) % hues.length];
        const state = word => element('span', word, 'state-' + word);
        function action(label, run) {
          const button = element('button', label);
          button.onclick = async () => { button.disabled = true; try { await run(); await refresh(); } catch (error) { fault(error); } };
          return button;
        }
        function fault(error) {
          $('fault').textContent = error ? error.message : '';
          if (error && error.status === 401) { token = ''; sessionStorage.removeItem('roost-token'); show(false); }
        }

        function drawNodes(nodes) {
          names = nodes.map(node => node.name);
          table('nodes', [['node'], ['state'], ['places', 'n'], ['load', 'n'], ['sessions', 'n'], ['conversations', 'n'], ['messages/s', 'n'],
            ['p99 ms', 'n'], ['memory', 'n'], ['']], nodes.map(node => {
            const buttons = element('span'), path = 'nodes/' + encodeURIComponent(node.name) + '/';
            if (node.state === 'up') buttons.append(action('Cordon', () => call('POST', path + 'cordon')));
            if (['up', 'cordoned'].includes(node.state)) buttons.append(action('Drain', () => call('POST', path + 'drain')));
            if (['cordoned', 'draining', 'drained'].includes(node.state)) buttons.append(action('Use again', () => call('POST', path + 'uncordon')));
            return [node.name + (node.isLeader ? ' · leads' : ''), state(node.state), node.places, number(node.load), node.sessions,
              node.actors.conversation, number(node.messagesPerSecond), number(node.commitMillisecondsP99),
              node.residentBytes === null ? '–' : (node.residentBytes / 1048576).toFixed(0) + ' MiB', buttons];
          }));
          const open = nodes.filter(node => node.state === 'up' && node.load !== null), loads = open.map(node => node.load);
          const mean = loads.reduce((sum, load) => sum + load, 0) / (loads.length || 1);
          $('summary').textContent = open.length + ' nodes in use' + (mean > 0 ? ', max/mean load ' + (Math.max(...loads) / mean).toFixed(2) : '');
          history.push({ at: Date.now(), nodes });
          if (history.length > 300) history.shift();
          lines('rate', node => node.messagesPerSecond); lines('late', node => node.commitMillisecondsP99);
        }
        function lines(id, value) {
          const canvas = $(id), pen = canvas.getContext('2d'), { width, height } = canvas;
          pen.clearRect(0, 0, width, height);
          const most = Math.max(1, ...history.flatMap(entry => entry.nodes.map(node => value(node) || 0)));
          pen.fillStyle = '#888'; pen.font = '11px sans-serif'; pen.fillText(number(most), 2, 11);
          for (const name of names) {
            pen.strokeStyle = `hsl(${hue(name)} 70% 50%)`; pen.lineWidth = 1.5; pen.beginPath();
            history.forEach((entry, index) => {
              const node = entry.nodes.find(node => node.name === name), x = width - (history.length - 1 - index) * (width / 300);
              const y = height - 2 - (node ? value(node) || 0 : 0) / most * (height - 16);
              index ? pen.lineTo(x, y) : pen.moveTo(x, y);
            });
            pen.stroke();
          }
        }
        function drawShards(items) {
          shards = items.filter(shard => shard.kind === 'conversation');
          const pen = $('heat').getContext('2d'), most = Math.max(1, ...shards.map(shard => shard.load || 0));
          for (const shard of shards) {
            const x = shard.shard % 32 * 8, y = Math.floor(shard.shard / 32) * 8;
            const light = 25 + 50 * Math.sqrt((shard.load || 0) / most);
            pen.fillStyle = shard.owner ? `hsl(${hue(shard.owner)} 65% ${light}%)` : '#000'; pen.fillRect(x, y, 8, 8);
            if (shard.target) { pen.strokeStyle = '#fff'; pen.strokeRect(x + .5, y + .5, 7, 7); }
          }
          const moving = items.filter(shard => shard.target).length;
          $('key').replaceChildren(...names.map(name => {
            const span = element('span'), swatch = element('i'); swatch.style.background = `hsl(${hue(name)} 65% 45%)`;
            span.append(swatch, name + ' ' + items.filter(shard => shard.owner === name).length); return span;
          }), element('span', moving ? moving + ' moving' : ''));
          $('heat').dataset.shards = shards.length;
        }
        $('heat').onmousemove = event => {
          const box = $('heat').getBoundingClientRect();
          const index = Math.floor((event.clientY - box.top) / box.height * 32) * 32 + Math.floor((event.clientX - box.left) / box.width * 32);
          const shard = shards[index];
          if (shard) $('cell').textContent = `shard ${shard.shard}: ${shard.owner || 'nobody'}${shard.target ? ' → ' + shard.target : ''}, load ${number(shard.load, 2)}, epoch ${shard.epoch}, by ${shard.reason}`;
        };
        function drawOperations(items) {
          table('operations', [['what'], ['of'], ['state'], ['done'], ['moves', 'n'], ['pause ms', 'n'], ['by'], ['started'], ['']], items.map(item => {
            const bar = element('div', undefined, 'bar'), fill = element('b'), buttons = element('span'), path = 'operations/' + item.id + '/';
            fill.style.width = (item.movesPlanned ? item.movesDone / item.movesPlanned * 100 : 100) + '%'; bar.append(fill);
            if (item.state === 'running') buttons.append(action('Pause', () => call('POST', path + 'pause')));
            if (item.state === 'paused') buttons.append(action('Resume', () => call('POST', path + 'resume')));
            if (['running', 'paused'].includes(item.state)) buttons.append(action('Cancel', () => call('POST', path + 'cancel')));
            buttons.append([item.reason, ...item.blockedBy].filter(Boolean).join('; '));
            return [item.kind, item.actor || item.node, state(item.state), bar, item.movesDone + '/' + item.movesPlanned,
              number(item.longestPauseMilliseconds), item.startedBy, new Date(item.startedAt).toLocaleTimeString(), buttons];
          }));
        }
        function drawPlan() {
          $('apply').disabled = !plan || !plan.moves.length;
          $('planned').textContent = plan ? plan.moves.length + ' moves, of view ' + plan.viewVersion : '';
          table('plans', [['node'], ['load now', 'n'], ['load then', 'n']], plan ? plan.before.map(before => [before.node, number(before.load),
            number((plan.after.find(after => after.node === before.node) || {}).load)]) : []);
        }
        $('plan').onclick = async () => { try { plan = await call('POST', 'rebalance', { dryRun: true }); fault(); } catch (error) { plan = null; fault(error); } drawPlan(); };
        $('apply').onclick = async () => { try { await call('POST', 'rebalance', { planId: plan.id }); fault(); } catch (error) { fault(error); } plan = null; drawPlan(); };

        async function refresh() {
          try {
            const [nodes, map, operations, audit] = await Promise.all([call('GET', 'nodes'), call('GET', 'shards'),
              call('GET', 'operations?limit=8'), call('GET', 'audit?limit=12')]);
            drawNodes(nodes.items); drawShards(map.items); drawOperations(operations.items);
            table('audit', [['at'], ['who'], ['did'], ['to']], audit.items.map(entry => [new Date(entry.at).toLocaleString(), entry.operator, entry.action, entry.subject]));
            fault();
          } catch (error) { fault(error); }
        }
        function show(isOpen) {
          $('main').hidden = !isOpen; $('login').hidden = isOpen; clearInterval(timer);
          if (isOpen) { refresh(); timer = setInterval(refresh, 1000); }
        }
        $('login').onsubmit = event => {
          event.preventDefault(); token = $('token').value; sessionStorage.setItem('roost-token', token); $('token').value = ''; show(true);
        };
        show(!!token);
        """#
}
