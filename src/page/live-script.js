(() => {
  const byId = (id) => document.getElementById(id);

  const list = byId('sessions');
  if (list) {
    const rows = [...list.tBodies[0].rows];
    const query = byId('live-query');
    // A search in the URL has left out rows, which only the server has.
    const isWhole = query.value === '';
    query.form.addEventListener('submit', (event) => isWhole && event.preventDefault());
    query.addEventListener('input', () => {
      if (!isWhole) return;
      const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of rows) row.hidden = !words.every((word) => row.dataset.text.includes(word));
      const shown = rows.filter((row) => !row.hidden).length;
      const all = `${rows.length} ${rows.length === 1 ? 'session' : 'sessions'}`;
      byId('live-count').textContent = shown === rows.length ? all : `${shown} of ${all}`;
    });
  }

  const live = byId('live');
  if (!live) return;
  const base = location.pathname.replace(/\/+$/, '');
  let versions = new Map(JSON.parse(live.dataset.turns));
  const say = (text) => (byId('live-state').textContent = text);

  const showError = (error) => {
    const element = byId('live-error');
    element.hidden = !error;
    element.textContent = error ? [`${error.message} [${error.code}]`, error.hint].filter(Boolean).join('\n') : '';
  };

  const post = async (path, body) => {
    showError(null);
    try {
      const response = await fetch(`${base}/${path}`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      });
      if (response.ok) return true;
      const { error, code, hint } = await response.json();
      showError({ message: error, code, hint });
    } catch {
      showError({
        message: 'teddy is not responding. It may have been stopped.',
        code: 'SERVER_UNREACHABLE',
        hint: 'Start it again: teddy view',
      });
    }
    return false;
  };

  // Nothing inserted into the page runs: a parsed document runs no scripts, and the page's policy allows no others.
  const getElement = async (path, selector) => {
    const response = await fetch(path);
    // The turn no longer exists; the next update will say so.
    if (response.status === 404) return null;
    if (!response.ok) throw new Error(`${path}: ${response.status}`);
    return new DOMParser().parseFromString(await response.text(), 'text/html').querySelector(selector);
  };

  /* Committed turns */

  // The page must not resend a message that became a turn, even if the request to the model failed afterward.
  let sent = null;
  const forgetSent = (fresh) => {
    const message = byId('live-message');
    const [word = ''] = sent?.trim().split(/\s/) ?? [];
    if (sent === null || !fresh.querySelector('.message')?.textContent.includes(word)) return;
    if (message?.value === sent) message.value = '';
    sent = null;
  };

  const showTurn = async (turn, before) => {
    const fresh = await getElement(`${base}/turns/${encodeURIComponent(turn)}`, 'article');
    if (!fresh) return;
    const old = byId(`t${turn}`);
    if (!old) forgetSent(fresh);
    if (old) {
      // Keeps the folds open that the reader has opened.
      const open = [...old.querySelectorAll('details')].map((one) => one.open);
      fresh.querySelectorAll('details').forEach((one, at) => (one.open = open[at] ?? one.open));
      old.replaceWith(fresh);
    } else if (before && byId(`t${before}`)) byId(`t${before}`).after(fresh);
    else byId('stream').append(fresh);
    byId('stream').querySelector('.empty')?.remove();
    fresh.dispatchEvent(new CustomEvent('teddy:turn', { bubbles: true, detail: { turn } }));
  };

  /* Comments on a plan's lines */

  const commentOn = (line, text) => {
    const item = byId('live-lines')?.children[line - 1];
    if (!item) return;
    const known = item.querySelector('textarea');
    if (known) return known.focus();
    const comment = Object.assign(document.createElement('textarea'), { rows: 2, value: text });
    comment.dataset.of = line;
    comment.setAttribute('aria-label', `Your comment on line ${line}`);
    item.append(comment);
    item.closest('details').open = true;
    if (text === '') comment.focus();
  };
  const readComments = () =>
    [...live.querySelectorAll('textarea[data-of]')]
      .map(({ dataset, value }) => ({ line: Number(dataset.of), text: value }))
      .filter(({ text }) => text.trim() !== '');
  live.addEventListener('click', ({ target }) => {
    if (target.dataset?.line) commentOn(Number(target.dataset.line), '');
  });

  let controls = byId('live-controls').outerHTML;
  const showControls = async () => {
    const fresh = await getElement(`${base}/controls`, '#live-controls');
    // Leaves an unchanged form alone, because somebody may be about to use it.
    if (!fresh || fresh.outerHTML === controls) return;
    controls = fresh.outerHTML;
    const old = byId('live-controls');
    const written = byId('live-message')?.value ?? '';
    const hadFocus = document.activeElement === byId('live-message');
    const [verdict, comments] = [byId('live-verdict')?.value ?? '', readComments()];
    const ticks = [...old.querySelectorAll('[name=action]')].map((one) => one.checked);
    if (fresh.dataset.plan === old.dataset.plan)
      fresh.querySelectorAll('[name=action]').forEach((one, at) => (one.checked = ticks[at] ?? one.checked));
    old.replaceWith(fresh);
    if (byId('live-message')) byId('live-message').value = written;
    if (fresh.dataset.plan === old.dataset.plan && byId('live-verdict')) {
      byId('live-verdict').value = verdict;
      for (const { line, text } of comments) commentOn(line, text);
    }
    if (hadFocus) byId('live-message')?.focus();
    setBusy(!byId('live-act').hidden);
  };

  // The header and the timeline, which do not belong to a single turn.
  const showFrame = async () => {
    const response = await fetch(location.pathname);
    if (!response.ok) return;
    const fresh = new DOMParser().parseFromString(await response.text(), 'text/html');
    for (const selector of ['header.page', '#timeline', '#tabs', '#compare', '#files', '#numbers', 'body > footer']) {
      const [old, now] = [document.querySelector(selector), fresh.querySelector(selector)];
      if (old && now) old.replaceWith(now);
      else if (now) byId('stream').append(now);
    }
    document.title = fresh.title;
    document.dispatchEvent(new CustomEvent('teddy:frame'));
  };

  const update = async ({ turns }) => {
    const fresh = new Map(turns);
    let before = null;
    let isChanged = false;
    for (const [turn, version] of turns) {
      if (versions.get(turn) !== version) {
        await showTurn(turn, before);
        isChanged = true;
      }
      before = turn;
    }
    for (const turn of versions.keys()) if (!fresh.has(turn)) byId(`t${turn}`)?.remove();
    versions = fresh;
    await showControls();
    if (isChanged) await showFrame();
  };

  /* Work in progress */

  const setBusy = (isBusy) => {
    for (const button of byId('live-controls').querySelectorAll('button')) button.disabled = isBusy;
  };

  const showText = (text) => {
    const element = byId('live-text');
    const isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < 40;
    element.hidden = false;
    element.append(text);
    if (isAtEnd) element.scrollTop = element.scrollHeight;
  };

  const showAction = ({ index, count, title, type, status, reason }) => {
    const items = byId('live-actions');
    let item = items.querySelector(`[data-action="${Number(index)}"]`);
    if (!item) {
      item = document.createElement('li');
      item.dataset.action = index;
      item.value = index;
      items.append(item);
    }
    if (title) item.dataset.title = title;
    item.textContent = `${status} ${index}/${count} ${item.dataset.title ?? type}${reason ? ` (${reason})` : ''}`;
  };

  const ask = ({ id, kind, title, text }) => {
    const form = byId('live-question');
    const question = document.createElement('p');
    question.append(Object.assign(document.createElement('strong'), { textContent: title }));
    const quoted = Object.assign(document.createElement('pre'), { textContent: text });
    const give = (label, answer) => {
      const button = Object.assign(document.createElement('button'), { type: 'submit', textContent: label });
      button.addEventListener('click', (event) => {
        event.preventDefault();
        post('answer', { question: id, text: answer() });
      });
      return button;
    };
    const input = Object.assign(document.createElement('input'), { type: 'text', autocomplete: 'off' });
    input.setAttribute('aria-label', 'Your answer');
    form.replaceChildren(
      question,
      quoted,
      ...(kind === 'text'
        ? [input, give('Answer', () => input.value), give('No answer', () => null)]
        : [give('Yes', () => 'yes'), give('No', () => 'no')]),
    );
    form.hidden = false;
  };

  const closeQuestion = () => {
    byId('live-question').hidden = true;
    byId('live-question').replaceChildren();
  };

  const names = {
    say: 'Asking ...',
    ask: 'Asking about the plan ...',
    instead: 'Asking for another plan ...',
    run: 'Running ...',
    approve: 'Approving ...',
    reject: 'Rejecting ...',
  };
  // The last act's outcome stays visible after the server has stopped.
  let result = '';
  const handlers = {
    act({ kind }) {
      result = '';
      byId('live-title').textContent = names[kind] ?? '';
      byId('live-actions').replaceChildren();
      byId('live-text').replaceChildren();
      byId('live-text').hidden = true;
      byId('live-notices').replaceChildren();
      closeQuestion();
      showError(null);
      byId('live-act').hidden = false;
      byId('live-stop').disabled = false;
      setBusy(true);
    },
    idle() {
      byId('live-act').hidden = true;
      closeQuestion();
      setBusy(false);
    },
    asked: ({ title }) => (byId('live-title').textContent = title),
    text: ({ text }) => showText(text),
    output: ({ text }) => showText(text),
    cut: () => showText('[earlier output is not shown here; see the report]\n'),
    action: showAction,
    question: ask,
    answered: closeQuestion,
    notice: ({ text }) =>
      byId('live-notices').append(Object.assign(document.createElement('li'), { textContent: text })),
    elsewhere({ id, title, text, isOver }) {
      const all = byId('live-elsewhere');
      const old = [...all.children].find((one) => one.dataset.id === id);
      if (text) return old?.lastChild.append(text);
      old?.remove();
      if (isOver) return undefined;
      const answer = document.createElement('div');
      answer.dataset.id = id;
      const about = Object.assign(document.createElement('p'), { textContent: title });
      const arrived = Object.assign(document.createElement('pre'), {
        tabIndex: 0,
        ariaLabel: 'What has arrived there',
      });
      answer.append(about, arrived);
      return all.append(answer);
    },
    done({ title, message, code, hint }) {
      handlers.idle();
      result = message ? '' : `${title} `;
      if (message) showError({ message, code, hint });
      else say(title);
    },
  };

  let updating = Promise.resolve();
  const connect = () => {
    const source = new EventSource(`${base}/live`);
    source.onopen = () => say('Connected. Changes made elsewhere appear here automatically.');
    source.onerror = () => {
      if (source.readyState !== EventSource.CLOSED)
        return say(`${result}No connection to teddy. Retrying; if teddy was stopped, reopen the page: teddy view`);
      say(`${result}teddy was stopped, or no longer recognizes this browser. Reopen the page: teddy view`);
      setTimeout(connect, 5000);
    };
    for (const [name, handle] of Object.entries(handlers))
      source.addEventListener(name, (event) => handle(JSON.parse(event.data)));
    source.addEventListener('state', (event) => {
      const state = JSON.parse(event.data);
      updating = updating
        .then(() => update(state))
        .catch(() => say('Part of the page could not be updated. Reload it.'));
    });
    addEventListener('pagehide', () => source.close(), { once: true });
  };

  live.addEventListener('submit', async (event) => {
    event.preventDefault();
    const plan = byId('live-controls').dataset.plan;
    if (event.target.id === 'live-run') {
      const boxes = [...event.target.querySelectorAll('[name=action]')];
      const ticked = boxes.filter((box) => box.checked).map((box) => Number(box.value));
      return post('run', { plan, actions: ticked.length === boxes.length ? null : ticked });
    }
    if (event.target.id === 'live-judge') {
      const kind = event.submitter?.value ?? 'approve';
      const words = byId('live-verdict').value;
      const said = kind === 'approve' ? { message: words } : { reason: words };
      return post(kind, { plan, ...said, comments: readComments() });
    }
    if (event.target.id !== 'live-say') return undefined;
    const message = byId('live-message');
    const kind = event.submitter?.value ?? 'say';
    const bodies = {
      say: ['say', { message: message.value }],
      again: ['say', {}],
      ask: ['ask', { plan, message: message.value }],
      instead: ['instead', { plan, message: message.value }],
      reject: ['reject', { plan, reason: message.value, comments: readComments() }],
    };
    if (kind === 'say' || kind === 'instead') sent = message.value;
    if ((await post(...bodies[kind])) && kind !== 'again') message.value = '';
    return undefined;
  });
  byId('live-stop').addEventListener('click', () => {
    byId('live-stop').disabled = true;
    post('stop', {});
  });
  connect();
})();
