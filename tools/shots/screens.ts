import { RAKES } from './rakes.ts'

export const DOMAIN = 'shop.example.com'

/** `before` runs in the loaded page; the picture is taken when `until` is true. */
export type Screen = { name: string; path: string; before?: string; until?: string }

const click = (text: string) =>
  `[...document.querySelectorAll('button, a, label')].find((each) => each.textContent.trim() === ${JSON.stringify(text)}).click()`
/** Runs `take` once `find` returns something: dialogs and menus open with a delay. */
export const soon = (find: string, take: string) => `(async () => {
  for (let tries = 0; tries < 600; tries++) {
    const found = ${find}
    if (found != null) return void (${take})
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
})()`
export const clickSoon = (text: string) =>
  soon(
    `[...document.querySelectorAll('button, a, label')].find((each) => each.textContent.trim() === ${JSON.stringify(text)} && !each.disabled)`,
    'found.click()',
  )
export const type = (label: string, text: string) =>
  soon(
    `[...document.querySelectorAll('label')].find((each) => each.textContent.startsWith('${label}'))?.control`,
    `Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(found, '${text}'),
     found.dispatchEvent(new Event('input', { bubbles: true }))`,
  )
export const PICTURES = `[...document.images].every((each) => each.complete && each.naturalWidth > 0)`
export const text = (shown: string) => `document.body.innerText.includes('${shown}')`
export const DIALOG = `document.querySelector('[role=dialog]')`

const CHARTS = `((charts) => charts.length > 0 && charts.every((each) => each.querySelector('svg')))([...document.querySelectorAll('[role=slider]')])`

const POINT = `(() => {
  const chart = document.querySelector('[role=slider]')
  chart.focus()
  for (const key of ['End', 'ArrowLeft']) chart.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))
})()`

const CHOOSE_DAY = `(() => {
  const select = document.querySelector('main select')
  Object.getOwnPropertyDescriptor(HTMLSelectElement.prototype, 'value').set.call(select, 'day')
  select.dispatchEvent(new Event('change', { bubbles: true }))
})()`

export const SCREENS: Screen[] = [
  { name: 'domains', path: '/domains' },
  { name: 'domain-add', path: '/domains/add' },
  {
    name: 'domain-add-looked-at',
    path: '/domains/add',
    before: `${type('Address of your site', DOMAIN)}, ${type('Origin', 'http://127.0.0.1:9')}`,
    until: `document.body.textContent.includes('already registered') && document.body.textContent.includes('does not accept connections')`,
  },
  { name: 'domain-way', path: `/domains/add?domain=${DOMAIN}&step=way` },
  { name: 'domain-connect', path: `/domains/add?domain=${DOMAIN}&step=connect` },
  { name: 'domain', path: `/domains/${DOMAIN}` },
  { name: 'domain-cache', path: `/domains/${DOMAIN}/pages` },
  {
    name: 'domain-warm',
    path: `/domains/${DOMAIN}/pages`,
    before: clickSoon('Warm the cache'),
    until: DIALOG,
  },
  { name: 'domain-purge', path: `/domains/${DOMAIN}/pages`, before: clickSoon('Purge all'), until: DIALOG },
  { name: 'domain-renders', path: `/domains/${DOMAIN}/renders`, before: clickSoon('Show record') },
  ...['compare', 'facts', 'source', 'renders', 'history', 'preview'].map((view) => ({
    name: `page-${view}`,
    path: `/domains/${DOMAIN}/pages?path=${RAKES}&view=${view}`,
    until: view === 'source' ? undefined : PICTURES,
  })),
  { name: 'page-not-stored', path: `/domains/${DOMAIN}/pages?path=/nothing` },
  { name: 'domain-robots', path: `/domains/${DOMAIN}/settings/robots`, until: text('line 2: Disallow: /') },
  {
    name: 'domain-redirects',
    path: `/domains/${DOMAIN}/settings/redirects`,
    until: text('Another host'),
  },
  {
    name: 'domain-sitemap',
    path: `/domains/${DOMAIN}/settings/sitemap`,
    until: text('Pages waiting'),
  },
  { name: 'domain-crawlers', path: `/domains/${DOMAIN}/settings/crawlers`, until: text('Versions') },
  { name: 'domain-settings', path: `/domains/${DOMAIN}/settings/site` },
  {
    name: 'domain-settings-rules',
    path: `/domains/${DOMAIN}/settings/paths`,
    before: clickSoon('Add a rule'),
  },
  {
    name: 'domain-settings-rows',
    path: `/domains/${DOMAIN}/settings/crawlers`,
    before: clickSoon('Add a crawler'),
  },
  {
    name: 'domain-certificate',
    path: `/domains/${DOMAIN}/settings/certificate`,
    before: clickSoon('Upload'),
    until: DIALOG,
  },
  {
    name: 'domain-leave',
    path: `/domains/${DOMAIN}/settings/paths`,
    // The screen notices unsaved changes with a delay.
    before: `${clickSoon('Add a rule')}, ${soon('history.state?.isHeld', click('Traffic'))}`,
    until: DIALOG,
  },
  {
    name: 'domain-delete',
    path: `/domains/${DOMAIN}/settings/delete`,
    before: clickSoon('Delete'),
    until: DIALOG,
  },
  { name: 'domain-traffic', path: `/domains/${DOMAIN}/traffic`, until: CHARTS },
  {
    name: 'domain-traffic-week',
    path: `/domains/${DOMAIN}/traffic?range=7d`,
    before: `${click('By crawler')}, ${POINT}`,
    until: CHARTS,
  },
  { name: 'domain-traffic-quarter', path: `/domains/${DOMAIN}/traffic?range=90d`, until: CHARTS },
  { name: 'traffic', path: '/traffic?range=30d', until: CHARTS },
  { name: 'incidents', path: '/incidents' },
  { name: 'notifications', path: '/notifications' },
  { name: 'report', path: '/report' },
  { name: 'reports', path: '/reports' },
  { name: 'plan', path: '/plan' },
  { name: 'docs', path: '/docs' },
  { name: 'keys', path: '/keys' },
  { name: 'members', path: '/members' },
  { name: 'keys-day', path: '/keys', before: CHOOSE_DAY },
  { name: 'account', path: '/account' },
  { name: 'security', path: '/account/security' },
  { name: 'accounts', path: '/operator/accounts' },
  { name: 'accounts-invite', path: '/operator/accounts', before: click('Invite an owner'), until: DIALOG },
  {
    name: 'accounts-suspend',
    path: '/operator/accounts',
    before: `document.querySelector('[aria-label="Actions for owner@example.net"]').click(), ${clickSoon('Suspend')}`,
    until: DIALOG,
  },
  { name: 'nodes', path: '/operator/nodes', until: `document.querySelector('table') !== null` },
  { name: 'queue', path: '/operator/queue' },
  { name: 'failures', path: '/operator/failures' },
  { name: 'not-found', path: '/domains/nobody.example.com' },
  {
    name: 'menu',
    path: '/domains',
    before: `document.querySelector('[aria-label="Open the menu"]')?.click()`,
  },
]
