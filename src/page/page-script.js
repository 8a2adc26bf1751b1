/** Views one at a time, search, keys and side-by-side diffs; nobody needs this script to read the page. */
(() => {
  'use strict';
  const stream = document.getElementById('main');
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };

  // Shows one view, and puts the diffs in place that it has only as links.
  let view = 'stream';
  const showView = (name) => {
    view = name;
    for (const one of all('[data-view]', stream)) one.hidden = one.dataset.view !== name;
    for (const tab of all('#tabs a')) tab.setAttribute('aria-current', tab.hash === `#${name}`);
    if (name !== 'files') return;
    for (const link of all('.same-diff', stream)) {
      const copy = document.querySelector(`[id="${link.hash.slice(1)}"] > .diff`)?.cloneNode(true);
      if (!copy) continue;
      for (const part of all('[id]', copy)) part.removeAttribute('id');
      copy.hidden = false;
      link.parentElement.replaceWith(copy);
    }
    layOut(stream);
  };

  // Opens everything around an element, then scrolls to it.
  const reveal = (element) => {
    const around = element.closest('[data-view]')?.dataset.view;
    if (around && around !== view) showView(around);
    for (let at = element; at; at = at.parentElement) {
      if (at.localName === 'details') at.open = true;
      if (at.classList.contains('view'))
        at.parentElement.querySelectorAll(':scope > input')[at.matches('.source') ? 1 : 0].checked = true;
    }
    element.scrollIntoView({ block: 'start' });
  };
  const revealTarget = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target) reveal(target);
  };
  addEventListener('hashchange', revealTarget);

  // Tools above the stream.
  const search = make('input', { type: 'search', placeholder: 'Search', ariaLabel: 'Search this page' });
  const found = make('span', { className: 'muted' });
  found.setAttribute('role', 'status');
  const sides = make('button', { type: 'button', textContent: 'Side by side' });
  const unfold = make('button', { type: 'button', textContent: 'Open all' });
  const help = make('button', { type: 'button', textContent: 'Keys' });
  document.getElementById('tools').append(search, found, sides, unfold, help);

  unfold.addEventListener('click', () => {
    const folds = all(`[data-view=${view}] details`, stream);
    const open = folds.some((fold) => !fold.open);
    for (const fold of folds) fold.open = open;
    unfold.textContent = open ? 'Fold all' : 'Open all';
  });

  // Side-by-side diffs: builds the rows from the unified text on demand.
  const splitLines = (pre) => {
    const lines = [];
    for (const node of pre.firstElementChild.childNodes) {
      const kind = { INS: 'ins', DEL: 'del', SPAN: 'hunk' }[node.nodeName] ?? 'same';
      let line = document.createDocumentFragment();
      const walk = (part, wrap) => {
        if (part.nodeType !== Node.TEXT_NODE)
          return void part.childNodes.forEach((one) => walk(one, part.nodeName === 'B'));
        part.data.split('\n').forEach((text, at) => {
          if (at > 0) {
            lines.push({ kind, line });
            line = document.createDocumentFragment();
          }
          if (text) line.append(wrap ? make('b', {}, text) : text);
        });
      };
      if (kind === 'hunk') line.append(...node.cloneNode(true).childNodes);
      else walk(node, false);
      if (line.hasChildNodes()) lines.push({ kind, line });
    }
    return lines;
  };
  const withoutSign = (line) => {
    const first = line.firstChild;
    if (first?.nodeType === Node.TEXT_NODE) first.data = first.data.slice(1);
    return line;
  };
  const toTable = (pre) => {
    const columns = ['n', '', 'n', ''].map((className) => make('col', { className }));
    const table = make('table', { className: 'diff' }, make('colgroup', {}, ...columns));
    let [left, right] = [0, 0];
    let waiting = [];
    const row = (...cells) => table.append(make('tr', {}, ...cells));
    const cell = (line, className = '') => make('td', { className }, line ?? '');
    const flush = () => {
      for (const one of waiting) row(cell(String(left++), 'n'), cell(one, 'del'), cell(null, 'n'), cell());
      waiting = [];
    };
    const lines = splitLines(pre);
    for (const { kind, line } of lines) {
      if (kind === 'hunk') {
        flush();
        const [, from, to] = /^@@ -(\d+)\S* \+(\d+)/.exec(line.textContent) ?? [];
        [left, right] = [Number(from ?? 1), Number(to ?? 1)];
        const wide = cell(line, 'muted');
        wide.colSpan = 4;
        row(wide);
      } else if (kind === 'del') waiting.push(withoutSign(line));
      else if (kind === 'ins') {
        const old = waiting.shift();
        row(
          cell(old ? String(left++) : null, 'n'),
          cell(old, old ? 'del' : ''),
          cell(String(right++), 'n'),
          cell(withoutSign(line), 'ins'),
        );
      } else {
        flush();
        const copy = withoutSign(line.cloneNode(true));
        row(cell(String(left++), 'n'), cell(withoutSign(line)), cell(String(right++), 'n'), cell(copy));
      }
    }
    flush();
    return table;
  };
  const remember = (value) => {
    try {
      if (value === undefined) return localStorage.getItem('teddy-sides') === '1';
      localStorage.setItem('teddy-sides', value ? '1' : '0');
    } catch {
      // A page opened from disk may have no storage.
    }
    return false;
  };
  let isSplit = false;
  const layOut = (root) => {
    for (const pre of all('.file pre, .comparison > .diff', root)) {
      const table = pre.nextElementSibling?.matches('table.diff') ? pre.nextElementSibling : null;
      if (isSplit && !table && (!pre.closest('details') || pre.closest('details').open)) pre.after(toTable(pre));
      else if (table) table.hidden = !isSplit;
      pre.hidden = isSplit && Boolean(pre.nextElementSibling?.matches('table.diff'));
    }
  };
  const split = (value) => {
    sides.setAttribute('aria-pressed', String(value));
    if (value === isSplit) return;
    isSplit = value;
    layOut(stream);
  };
  sides.addEventListener('click', () => {
    split(!isSplit);
    remember(isSplit);
  });
  stream.addEventListener('toggle', ({ target }) => isSplit && target.open && layOut(target), true);

  // Search opens folds that contain a match, and marks every match.
  let hits = [];
  let current = -1;
  let sought = '';
  let timer = 0;
  const marks = globalThis.Highlight && CSS.highlights;
  const seek = () => {
    clearTimeout(timer);
    sought = search.value;
    const wanted = sought.toLowerCase();
    hits = [];
    current = -1;
    marks?.clear();
    found.textContent = '';
    if (wanted.length < 2) return;
    const walker = document.createTreeWalker(stream, NodeFilter.SHOW_TEXT, (node) =>
      node.parentElement.closest('#tools, pre[hidden], script') ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT,
    );
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const text = node.data.toLowerCase();
      for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + wanted.length)) {
        const range = new Range();
        range.setStart(node, at);
        range.setEnd(node, at + wanted.length);
        hits.push(range);
      }
    }
    if (hits.length > 0) marks?.set('found', new Highlight(...hits.slice(0, 5000)));
    found.textContent = 'Nothing found';
    step(1);
  };
  const step = (by) => {
    if (hits.length === 0) return;
    current = (current + by + hits.length) % hits.length;
    const range = hits[current];
    const element = range.startContainer.parentElement;
    reveal(element);
    const top = () => range.getBoundingClientRect().top;
    // A long text has a scroll bar of its own.
    for (let at = element; at !== document.body; at = at.parentElement)
      at.scrollTop += top() - at.getBoundingClientRect().top - at.clientHeight / 3;
    scrollBy(0, top() - innerHeight / 3);
    marks?.set('current', new Highlight(range));
    found.textContent = `${current + 1} of ${hits.length}`;
  };
  search.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(seek, 150);
  });
  search.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') {
      if (search.value === sought) step(event.shiftKey ? -1 : 1);
      else seek();
    }
    if (event.key === 'Escape') {
      search.value = '';
      seek();
      search.blur();
    }
  });

  // Keys.
  const rows = [
    ['j k', 'next and previous turn'],
    ['[ ]', 'previous and next action or file'],
    ['/', 'search; Enter for the next match'],
    ['n N', 'next and previous match'],
    ['s', 'side-by-side diffs'],
    ['?', 'these keys'],
  ];
  const dialog = make('dialog', { ariaLabel: 'Keys' }, make('h2', { textContent: 'Keys' }));
  const list = make('dl');
  for (const [keys, what] of rows)
    list.append(
      make('dt', {}, ...keys.split(' ').flatMap((key) => [make('kbd', { textContent: key }), ' '])),
      make('dd', { textContent: what }),
    );
  const close = make('button', { type: 'button', textContent: 'Close' });
  close.addEventListener('click', () => dialog.close());
  dialog.append(list, close);
  document.body.append(dialog);
  help.addEventListener('click', () => dialog.showModal());

  const go = (selector, by) => {
    const stops = all(selector, stream).filter((one) => one.checkVisibility?.() ?? one.offsetParent);
    const tops = stops.map((one) => one.getBoundingClientRect().top);
    const edge = document.getElementById('tools').offsetHeight + 24;
    const at = by > 0 ? tops.findIndex((top) => top > edge) : tops.findLastIndex((top) => top < edge - 16);
    if (at === -1) return;
    history.replaceState(null, '', `#${stops[at].id}`);
    reveal(stops[at]);
  };
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input, textarea, select, dialog'))
      return;
    const act = {
      j: () => go('.turn', 1),
      k: () => go('.turn', -1),
      ']': () => go('.action, .file', 1),
      '[': () => go('.action, .file', -1),
      '/': () => search.focus(),
      n: () => step(1),
      N: () => step(-1),
      s: () => sides.click(),
      '?': () => dialog.showModal(),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });

  // The timeline shows the current position.
  const listLinks = () => new Map(all('#timeline a').map((link) => [link.hash.slice(1), link]));
  let links = listLinks();
  const seen = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        for (const link of all('#timeline [aria-current]')) link.removeAttribute('aria-current');
        const link = links.get(target.id);
        link?.setAttribute('aria-current', 'true');
        const box = link?.closest('nav');
        if (box)
          box.scrollTop +=
            Math.min(0, link.getBoundingClientRect().top - box.getBoundingClientRect().top) +
            Math.max(0, link.getBoundingClientRect().bottom - box.getBoundingClientRect().bottom);
      }
    },
    { rootMargin: '-15% 0px -80% 0px' },
  );
  for (const turn of all('.turn', stream)) seen.observe(turn);

  // Shows local times, as only a script can.
  const clock = new Intl.DateTimeFormat([], { dateStyle: 'medium', timeStyle: 'short' });
  const localize = (root) => {
    for (const time of all('time:not([title])', root)) {
      const date = new Date(time.dateTime);
      if (Number.isNaN(date.getTime())) continue;
      time.title = time.textContent;
      time.textContent = clock.format(date);
    }
  };
  localize(document);

  // A live page receives turns again, together with the elements around them.
  addEventListener('teddy:turn', ({ target }) => {
    seen.observe(target);
    layOut(target);
    localize(target);
  });
  addEventListener('teddy:frame', () => {
    links = listLinks();
    showView(view);
    localize(document);
  });

  // Opens all folds for printing.
  let folded = [];
  addEventListener('beforeprint', () => {
    for (const one of all('[data-view]', stream)) one.hidden = false;
    folded = all('details:not([open])', stream).filter((fold) => !fold.matches('.context, .fold'));
    for (const fold of folded) fold.open = true;
  });
  addEventListener('afterprint', () => {
    for (const fold of folded) fold.open = false;
    showView(view);
  });

  split(remember());
  showView(view);
  revealTarget();
})();
