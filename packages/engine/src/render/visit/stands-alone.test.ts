/** A page whose requests stay unanswered is content, or an empty shell. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { standsAlone } from './stands-alone.ts'

const DATA = { url: 'https://a.example/api/list', isSuspected: false, isCode: false }
const POLL = { ...DATA, url: 'https://a.example/poll' }
const SUSPECT = { ...DATA, isSuspected: true }
const SCRIPT = { ...SUSPECT, isCode: true }
const SHORT = 'x'.repeat(100)
const LONG = 'x'.repeat(1_000)

const rows: Record<
  string,
  [stands: boolean, html: string, missing: (typeof DATA)[], hasScriptText: boolean]
> = {
  'a shell without data is none': [false, '<p>Shop</p>', [DATA], true],
  'a hundred characters of which scripts wrote some are content': [true, `<p>${SHORT}</p>`, [DATA], true],
  'ninety-nine are none': [false, `<p>${SHORT.slice(1)}</p>`, [DATA], true],
  'a hundred characters of the markup are none': [false, `<p>${SHORT}</p>`, [DATA], false],
  'a thousand characters of the markup are content': [true, `<p>${LONG}</p>`, [DATA], false],
  'nine hundred and ninety-nine are none': [false, `<p>${LONG.slice(1)}</p>`, [DATA], false],
  'header, menu and footer do not count': [
    false,
    `<header>${LONG}</header><nav>${LONG}</nav><footer>${LONG}</footer><aside>${LONG}</aside><p>Shop</p>`,
    [DATA],
    true,
  ],
  'what stands behind them does': [true, `<header>${LONG}</header><p>${SHORT}</p>`, [DATA], true],
  'a request whose address names a poll holds no page': [true, '<p>Shop</p>', [POLL], false],
  'nor does one that was unanswered before': [true, '<p>Shop</p>', [SUSPECT, POLL], false],
  'but beside one of data it does': [false, '<p>Shop</p>', [POLL, DATA], false],
  'and a script that was unanswered before does': [false, '<p>Shop</p>', [SCRIPT], false],
  'a text that says so waits': [false, `<p>${LONG}</p><p>Loading reviews…</p>`, [POLL], true],
  'a text about loading does not': [
    true,
    `<p>${LONG}</p><p>Loading docks are open. All day.</p>`,
    [DATA],
    true,
  ],
  'a busy element waits': [false, `<p aria-busy="true">${LONG}</p>`, [POLL], true],
  'a bar without a value waits': [false, `<p>${LONG}</p><progress></progress>`, [DATA], true],
  'a bar with a value does not': [true, `<p>${LONG}</p><progress value="0.7"></progress>`, [DATA], true],
  'a spinner waits': [false, `<p>${LONG}</p><div class="big loading-spinner"></div>`, [DATA], true],
  'a spinner that is hidden does not': [
    true,
    `<p>${LONG}</p><div class="spinner" style="display: none"></div><div hidden="" class="loader"></div>`,
    [DATA],
    true,
  ],
}

for (const [name, [stands, html, missing, hasScriptText]] of Object.entries(rows))
  it(name, () => assert.equal(standsAlone(html, missing, { hasScriptText }), stands))
