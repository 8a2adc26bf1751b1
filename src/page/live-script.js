(() => {
  const byId = (id) => document.getElementById(id);

  const live = byId('live');
  const part = (name) => byId(`live-${name}`);
  const find = (selector) => live.querySelector(selector);
  const make = (tag, properties, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  const base = location.pathname.replace(/\/+$/, '');
  const words = JSON.parse(live.dataset.words);
  let versions = new Map(JSON.parse(live.dataset.turns));
  let changedAt = 0;
  const say = (text) => (part('state').textContent = text);

  const showError = (error) => {
    part('error').hidden = !error;
    const { message, hint, code = '' } = error ?? {};
    part('error').replaceChildren([message, hint].filter(Boolean).join('\n'), ' ', make('small', {}, code));
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
      showError({ message: response.status === 401 ? words.reopen : error, code, hint });
    } catch {
      showError({ message: words.gone, code: 'SERVER_UNREACHABLE' });
    }
    return false;
  };

  // Nothing inserted into the page runs: a parsed document runs no scripts, and the page's policy allows no others.
  const load = async (path) => {
    const response = await fetch(path);
    // The turn no longer exists; the next update will say so.
    if (response.status === 404) return null;
    if (!response.ok) throw new Error(`${path}: ${response.status}`);
    return new DOMParser().parseFromString(await response.text(), 'text/html');
  };

  /* Committed turns */

  // The page must not resend a message that became a turn, even if the request to the model failed afterward.
  let sent = null;
  const forgetSent = (fresh) => {
    const message = part('message');
    const [word = ''] = sent?.trim().split(/\s/) ?? [];
    if (sent === null || !fresh.querySelector('.message')?.textContent.includes(word)) return;
    if (message?.value === sent) message.value = '';
    sent = null;
  };

  const showTurn = async (turn, before) => {
    const fresh = (await load(`${base}/turns/${encodeURIComponent(turn)}`))?.querySelector('article');
    if (!fresh) return;
    const old = byId(`t${turn}`);
    if (!old) forgetSent(fresh);
    if (old) {
      // Keeps the folds open and the tabs that the reader has chosen.
      for (const [kind, key] of Object.entries({ details: 'open', '.tabs > input': 'checked' })) {
        const all = [...old.querySelectorAll(kind)];
        fresh.querySelectorAll(kind).forEach((one, at) => (one[key] = all[at]?.[key] ?? one[key]));
      }
      old.replaceWith(fresh);
    } else if (before && byId(`t${before}`)) byId(`t${before}`).after(fresh);
    else byId('stream').append(fresh);
    byId('stream').querySelector('.empty')?.remove();
    fresh.dispatchEvent(new CustomEvent('teddy:turn', { bubbles: true, detail: { turn } }));
  };

  /* Comments on lines */

  let comments = [];
  const bar = () => part('controls').dataset;

  // Remarks stand between a plan's lines, and are not part of it.
  const toLines = (copy) => {
    copy.querySelectorAll('.remark').forEach((one) => one.remove());
    return copy.textContent.split('\n');
  };
  // Each line with its number in the plan, or on the sides of the diff where it is.
  const readLines = (pre) => {
    let [old, now] = [0, 0];
    return toLines(pre.cloneNode(true)).map((text, at) => {
      if (!pre.matches('.diff')) return { text, now: at + 1 };
      const hunk = /^@@ -(\d+)\S* \+(\d+)/.exec(text);
      if (hunk) [old, now] = [hunk[1] - 1, hunk[2] - 1];
      if (hunk || !text) return {};
      const [sign] = text;
      return { text: text.slice(1), sign, old: sign === '+' ? 0 : ++old, now: sign === '-' ? 0 : ++now };
    });
  };
  // The plan's line that has the text inside the action; otherwise the action's first line.
  const findPlanLine = (action, { text, sign }) => {
    const first = Number(action.dataset.line);
    const end = action.nextElementSibling?.dataset.line - 1 || Infinity;
    const lines = toLines(action.closest('.turn').querySelector('.source pre').cloneNode(true)).slice(first, end);
    return first + 1 + lines[sign === '+' ? 'findLastIndex' : 'findIndex']((one) => one.trim() === text.trim());
  };
  // `line` is a line of the turn's plan; 0 when the comment is about anything else.
  const toComment = (pre, line) => {
    const { turn } = pre.closest('.turn')?.dataset ?? {};
    const path = pre.closest('.file')?.querySelector('.path').textContent;
    const action = pre.closest('[data-line]');
    const where = turn === bar().turn ? '' : ` of the plan of turn ${turn}`;
    const place = path ? `${path}:${line.now || line.old}` : `line ${line.now}${where}`;
    const quote = path ? `\`${place}\`:` : `> ${line.text}\n`;
    return { turn, path, place, quote, line: path ? action && findPlanLine(action, line) : line.now };
  };
  const showComments = () => {
    const items = comments.map(({ place, text }, at) => {
      const onclick = () => showComments(comments.splice(at, 1));
      const name = { type: 'button', ariaLabel: `Remove the comment on ${place}` };
      return make('li', {}, `${place}: ${text} `, make('button', { ...name, onclick }, '×'));
    });
    part('comments')?.replaceChildren(...items);
  };

  const note = part('note');
  const [about, own] = note.children;
  let open = {};
  const moveNote = (by) => {
    let at = open.at + by;
    while (open.lines[at] && open.lines[at].text === undefined) at += by || 1;
    if (!open.lines[at]) return;
    open = { ...open, at, comment: toComment(open.pre, open.lines[at]) };
    about.replaceChildren(make('b', {}, open.comment.place), ' ', make('code', {}, open.lines[at].text));
  };
  const openNote = (pre, at, top) => {
    // Escape closes the note, and loses nothing.
    if (open.pre !== pre || open.at !== at) own.value = '';
    open = { pre, at, lines: readLines(pre) };
    moveNote(0);
    if (!open.comment) return;
    note.showModal();
    note.style.top = `${Math.min(top, innerHeight - 200)}px`;
  };
  note.addEventListener('click', ({ target: { value, type } }) => {
    const text = own.value.trim();
    if (type !== 'button') return;
    if (value === 'add' && text) comments.push({ ...open.comment, text });
    if (value === 'add' || value === 'cancel') showComments(note.close((own.value = '')));
    else moveNote(value === 'up' ? -1 : 1);
  });
  const commentable = '.file pre.diff, .view.source pre';
  byId('main').addEventListener('click', ({ target, clientY }) => {
    const { isCollapsed, anchorNode, anchorOffset } = getSelection();
    if (!part('bar') || !isCollapsed || target.closest('a, button, summary, label')) return;
    const cell = target.closest('.file table.diff td');
    const pre = cell ? cell.closest('table').previousElementSibling : target.closest(commentable);
    let at = -1;
    if (cell) {
      const number = Number(cell.parentNode.cells[cell.cellIndex & 2].textContent);
      at = readLines(pre).findIndex((line) => number > 0 && line[cell.cellIndex & 2 ? 'now' : 'old'] === number);
    } else if (pre?.contains(anchorNode)) {
      const range = new Range();
      range.setStart(pre, 0);
      range.setEnd(anchorNode, anchorOffset);
      at = toLines(range.cloneContents()).length - 1;
    }
    if (at !== -1) openNote(pre, at, clientY + 16);
  });

  /* The bar */

  const choice = () => find('[name=act]:checked');
  const boxes = () => [...live.querySelectorAll('[name=action]')];
  const showChoice = () => {
    const run = find('[value=run] ~ span b');
    const count = boxes().filter((box) => box.checked).length;
    if (run && boxes()[0]) run.textContent = `Run ${count} ${count === 1 ? 'action' : 'actions'}`;
    if (choice()) part('send').textContent = find('[name=act]:checked ~ span b').textContent;
  };
  // True when something else waits than what somebody has begun to answer.
  let [isStale, isSent, wanted, last] = [false, false];
  const hasWords = () => comments[0] || part('message')?.value !== part('message')?.defaultValue;
  live.addEventListener('change', showChoice);

  let controls = part('controls').outerHTML;
  const showControls = async () => {
    const fresh = (await load(`${base}/controls`))?.querySelector('#live-controls');
    // Leaves an unchanged form alone, because somebody may be about to use it.
    if (!fresh || fresh.outerHTML === controls) return;
    controls = fresh.outerHTML;
    changedAt = performance.now();
    const message = part('message');
    const hadFocus = document.activeElement === message;
    // With a single choice, nobody has chosen.
    wanted = isSent ? '' : (find('fieldset:not([hidden]) :checked')?.value ?? wanted);
    const [ticks, { plan }] = [boxes().map((box) => box.checked), bar()];
    const isRefusal = wanted === 'reject' || wanted === 'instead';
    const isWritten = hasWords();
    last = isSent ? '' : plan || last;
    part('controls').replaceWith(fresh);
    const isSame = plan === bar().plan;
    if (isSame) boxes().forEach((box, at) => (box.checked = ticks[at] ?? box.checked));
    else [isStale, isSent] = [isStale || (!isSent && (isWritten || (last && bar().plan))), false];
    // Nobody has chosen to run a plan that is new.
    if (isSame || isRefusal) (find(`[name=act][value="${wanted}"]`) ?? {}).checked = true;
    const now = part('message');
    if (now && message && message.value !== message.defaultValue) now.value = message.value;
    if (hadFocus) now?.focus();
    showComments();
    showChoice();
    setBusy(!part('act').hidden);
  };

  // The header and the timeline, which do not belong to a single turn.
  const showFrame = async () => {
    const fresh = await load(location.pathname);
    for (const selector of ['header.page', '#timeline', '#tabs', '#compare', '#files', '#numbers', 'body > footer']) {
      const [old, now] = [document.querySelector(selector), fresh?.querySelector(selector)];
      if (old && now) old.replaceWith(now);
      else if (now) byId('stream').append(now);
    }
    document.title = fresh?.title ?? document.title;
    document.dispatchEvent(new CustomEvent('teddy:frame', { bubbles: true }));
  };

  let landings;
  const update = async ({ turns, landed }) => {
    const fresh = new Map(turns);
    let before = null;
    let isChanged = landed !== (landings ?? landed);
    landings = landed;
    for (const [turn, version] of turns) {
      if (versions.get(turn) !== version) {
        await showTurn(turn, before);
        changedAt = performance.now();
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

  // The bar stays in sight while something waits or runs.
  const setBusy = (isBusy) => {
    live.classList.toggle('busy', isBusy);
    live.classList.toggle('waits', isBusy || bar().plan !== '');
    if (part('send')) part('send').disabled = isBusy;
    part('act').hidden = !isBusy;
  };

  const showText = ({ text }) => {
    const element = part('text');
    const isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < 40;
    element.hidden = false;
    element.append(text);
    if (isAtEnd) element.scrollTop = element.scrollHeight;
  };

  const question = part('question');
  const closeQuestion = () => (question.hidden = true);
  question.addEventListener('click', ({ target: { value, type } }) => {
    const text = value === 'text' ? question.querySelector('input').value : value;
    if (type === 'button')
      post('answer', { question: Number(question.dataset.id), text: value === 'none' ? null : text });
  });

  // The last act's outcome stays visible after the server has stopped.
  let result = '';
  const handlers = {
    act({ title }) {
      result = '';
      part('title').textContent = title;
      for (const name of ['actions', 'text', 'notices']) part(name).replaceChildren();
      part('text').hidden = true;
      closeQuestion();
      showError(null);
      part('stop').disabled = false;
      changedAt = performance.now();
      setBusy(true);
    },
    idle() {
      closeQuestion();
      changedAt = performance.now();
      setBusy(false);
    },
    asked: ({ title }) => (part('title').textContent = title),
    text: showText,
    output: showText,
    cut: () => showText({ text: words.cut }),
    action({ index, count, title, type, status, reason }) {
      let item = find(`[data-action="${Number(index)}"]`);
      if (!item) part('actions').append((item = make('li', { value: index })));
      item.dataset.action = index;
      if (title) item.dataset.title = title;
      item.textContent = `${status} ${index}/${count} ${item.dataset.title ?? type}${reason ? ` (${reason})` : ''}`;
    },
    question({ id, kind, title, text }) {
      question.dataset.id = id;
      question.querySelector('strong').textContent = title;
      question.querySelector('pre').textContent = text;
      question.querySelector('input').value = '';
      for (const span of question.querySelectorAll('span')) span.hidden = span.className !== kind;
      changedAt = performance.now();
      question.hidden = false;
    },
    answered: closeQuestion,
    notice: ({ text }) => part('notices').append(make('li', {}, text)),
    elsewhere({ id, title, text, isOver }) {
      const old = find(`[data-id="${CSS.escape(id)}"]`);
      if (text) return old?.lastChild.append(text);
      old?.remove();
      if (isOver) return undefined;
      const arrived = make('pre', { tabIndex: 0, ariaLabel: 'What has arrived there' });
      const answer = make('div', {}, make('p', {}, title), arrived);
      answer.dataset.id = id;
      return part('elsewhere').append(answer);
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
    source.onopen = () => say(words.connected, showError());
    source.onerror = () => {
      if (source.readyState !== EventSource.CLOSED) return say(result + words.lost);
      say(result + words.reopen);
      return setTimeout(connect, 5000);
    };
    for (const [name, handle] of Object.entries(handlers))
      source.addEventListener(name, (event) => handle(JSON.parse(event.data)));
    source.addEventListener('state', (event) => {
      const state = JSON.parse(event.data);
      updating = updating.then(() => update(state)).catch(() => say(words.stale));
    });
    addEventListener('pagehide', () => source.close(), { once: true });
  };

  const send = async () => {
    const message = part('message');
    const kind = choice().value;
    const isAlone = kind === 'run' || kind === 'again';
    const isVerdict = kind === 'approve' || kind === 'reject';
    const onLines = comments.filter(({ turn, line }) => isVerdict && turn === bar().turn && line > 0);
    const others = comments.filter((comment) => !onLines.includes(comment));
    // Nobody has written the words that ask for a new plan.
    const isOwn = kind === 'instead' || message.value !== message.defaultValue;
    const said = [isOwn && message.value.trim(), ...others.map((one) => `${one.quote} ${one.text}`)];
    const text = said.filter(Boolean).join('\n\n');
    const ticked = boxes().flatMap((box) => (box.checked ? Number(box.value) : []));
    const isSaid = text || onLines[0];
    const isEmpty = kind === 'run' && boxes()[0] && !ticked[0];
    const refusal = isSaid ? isAlone && 'alone' : isEmpty ? 'none' : !isAlone && kind !== 'approve' && 'needed';
    const problem = isStale ? 'changed' : refusal;
    isStale = false;
    if (problem === 'needed') message.focus();
    if (problem) return showError({ message: words[problem] });
    const body = {
      kind: kind === 'again' ? 'say' : kind,
      plan: bar().plan || undefined,
      message: text || undefined,
      actions: ticked.length === boxes().length ? null : ticked,
      comments: onLines.map(({ line, quote, path, text }) => ({ line, text: path ? `${quote} ${text}` : text })),
    };
    if (kind === 'say' || kind === 'instead') sent = message.value;
    part('send').disabled = true;
    // After these, the same plan goes on waiting.
    isSent = kind !== 'approve' && kind !== 'ask';
    if (!(await post('acts', body))) return setBusy(!part('act').hidden, (isSent = false));
    isStale = false;
    if (part('message')?.value === message.value) part('message').value = '';
    return showComments((comments = []));
  };
  live.addEventListener('submit', (event) => {
    event.preventDefault();
    if (event.target.id === 'live-bar') send();
  });

  // The keys 1 to 5 only choose. No key acts in a field, or just after the page has changed under the reader's hands.
  const onKey = (event) => {
    const { key, target } = event;
    const isSend = key === 'Enter' && (event.ctrlKey || event.metaKey);
    const isField = target.closest('input, textarea, select, dialog');
    const isEarly = performance.now() - changedAt < 500;
    if (isSend && note.open) return note.querySelector('[value=add]').click();
    if (key === 'Enter' && target.matches('#live input')) event.preventDefault();
    if (isEarly && target.matches('#live button') && (key === 'Enter' || key === ' ')) event.preventDefault();
    if (isEarly || (isField && !(isSend && target === part('message')))) return;
    const chosen = live.querySelectorAll('[name=act]')[key - 1];
    if (isSend) {
      event.preventDefault();
      if (part('send')?.disabled === false) send();
    } else if (event.ctrlKey || event.metaKey || event.altKey) return;
    else if (chosen) showChoice((chosen.checked = true));
    else if (key === 'c' && target.matches(commentable)) openNote(target, 0, target.getBoundingClientRect().top + 8);
  };
  addEventListener('keydown', onKey, true);

  part('stop').addEventListener('click', () => {
    part('stop').disabled = true;
    post('stop', {});
  });
  addEventListener('beforeunload', (event) => hasWords() && event.preventDefault());
  setBusy(false);
  connect();
})();
