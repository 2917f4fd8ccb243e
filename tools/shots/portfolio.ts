import { readFileSync } from 'node:fs'
import type { Tab } from './browser.ts'
import { clickSoon, DIALOG, PICTURES, type Screen, soon, text, type } from './screens.ts'

/** Sites of the demo, by their state. */
const FINE = 'kestrel-flowers.localhost'
const UNREACHABLE = 'oak-bakery.localhost'
const NEW = 'nord-ceramics.localhost'
const PAUSED = 'vega-dental.localhost'

const IMPORT = [
  'custom_domain,origin_url,tags',
  'www.atlas-wine.example,https://shop.hosting.example,Atlas',
  `${FINE},https://shop.hosting.example,Kestrel`,
  'not a name,https://shop.hosting.example,',
].join('\\n')

const choose = (label: string, at: number) =>
  soon(
    `[...document.querySelectorAll('[role=dialog] label')].find((each) => each.textContent.startsWith('${label}') && each.control?.options?.length > ${at})?.control`,
    `Object.getOwnPropertyDescriptor(HTMLSelectElement.prototype, 'value').set.call(found, found.options[${at}].value),
     found.dispatchEvent(new Event('change', { bubbles: true }))`,
  )
const check = (count: number) =>
  soon(
    `((boxes) => boxes.length > ${count} ? boxes : null)([...document.querySelectorAll('input[type=checkbox][aria-label^="Select "]')])`,
    `found.slice(1, ${count + 1}).forEach((box) => box.click())`,
  )
const bulk = (label: string) => inTurn(clickBulk(['Actions', label]), clickBulk([label]))
/** In narrow windows the actions are in a menu. A dialog is what the action has opened. */
const clickBulk = (labels: string[]) =>
  soon(
    `${DIALOG} ?? [...document.querySelectorAll('section[aria-label^="Actions for"] button, [role=menuitem]')].find((each) => ${JSON.stringify(labels)}.includes(each.textContent.trim()))`,
    'found.click()',
  )
const press = (key: string, more = '') =>
  `document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '${key}', bubbles: true, cancelable: true${more} }))`
/** Each step begins when the one before has ended. */
const inTurn = (...steps: string[]) =>
  `(async () => { ${steps.map((step) => `await (${step})`).join('; ')} })()`
const dialogSays = (words: string) => `${DIALOG}?.innerText.includes('${words}')`

const ofDomain = (domain: string, part: string) => `/domains/${domain}${part}`
const SETTINGS = [
  'site',
  'freshness',
  'paths',
  'crawlers',
  'rendering',
  'forms',
  'robots',
  'redirects',
  'sitemap',
  'access',
  'certificate',
  'tokens',
  'delete',
]

/** Screens of an account with forty sites, three of them in trouble. */
export const PORTFOLIO: Screen[] = [
  { name: 'sites', path: '/domains' },
  { name: 'sites-trouble', path: '/domains?state=trouble' },
  { name: 'sites-by-visits', path: '/domains?sort=visits' },
  { name: 'sites-none', path: '/domains?search=nothing&tag=Oak' },
  { name: 'sites-more', path: '/domains', before: clickSoon('More'), until: text('Import') },
  {
    name: 'sites-selected',
    path: '/domains',
    before: check(3),
    until: text('selected'),
  },
  { name: 'sites-tags', path: '/domains', before: inTurn(check(3), bulk('Tags')), until: DIALOG },
  {
    name: 'sites-template',
    path: '/domains',
    before: inTurn(check(3), bulk('Template'), choose('Template', 1)),
    until: `${dialogSays('Shops')} && ${dialogSays('site')}`,
  },
  {
    name: 'sites-purge',
    path: '/domains',
    before: inTurn(check(3), bulk('Delete stored pages')),
    until: DIALOG,
  },
  {
    name: 'sites-import',
    path: '/domains#import',
    before: inTurn(
      soon(
        `document.querySelector('[role=dialog] textarea')`,
        `Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, 'value').set.call(found, '${IMPORT}'), found.dispatchEvent(new Event('input', { bubbles: true }))`,
      ),
      clickSoon('Check the file'),
    ),
    until: dialogSays('can be added'),
  },
  { name: 'sites-templates', path: '/domains#templates', until: dialogSays('Templates') },
  { name: 'find', path: '/domains', before: press('k', ', ctrlKey: true'), until: DIALOG },
  { name: 'keys-help', path: '/domains', before: press('?'), until: DIALOG },
  { name: 'add', path: '/domains/add' },
  { name: 'add-way', path: `/domains/add?domain=${NEW}&step=way` },
  { name: 'add-connect', path: `/domains/add?domain=${NEW}&step=connect` },
  { name: 'overview-fine', path: ofDomain(FINE, '') },
  { name: 'overview-trouble', path: ofDomain(UNREACHABLE, '') },
  { name: 'overview-new', path: ofDomain(NEW, '') },
  { name: 'overview-paused', path: ofDomain(PAUSED, '') },
  { name: 'overview-unknown', path: ofDomain('nobody.example.com', '') },
  { name: 'site-traffic', path: ofDomain(FINE, '/traffic?range=7d') },
  { name: 'site-traffic-trouble', path: ofDomain(UNREACHABLE, '/traffic?range=7d') },
  { name: 'site-traffic-new', path: ofDomain(NEW, '/traffic') },
  { name: 'site-pages', path: ofDomain(FINE, '/pages') },
  { name: 'site-pages-none', path: ofDomain(NEW, '/pages') },
  { name: 'site-pages-filtered', path: ofDomain(FINE, '/pages?status=404') },
  { name: 'site-renders', path: ofDomain(FINE, '/renders') },
  { name: 'site-renders-failed', path: ofDomain(UNREACHABLE, '/renders?outcome=origin-unreachable') },
  { name: 'site-page', path: ofDomain(FINE, '/pages?path=/'), until: PICTURES },
  ...SETTINGS.map((page) => ({ name: `settings-${page}`, path: ofDomain(FINE, `/settings/${page}`) })),
  { name: 'all-traffic', path: '/traffic?range=7d' },
  { name: 'incidents-open', path: '/incidents' },
  { name: 'incidents-none', path: `/incidents?domain=${FINE}` },
  { name: 'incidents-acknowledge', path: '/incidents', before: clickSoon('Acknowledge'), until: DIALOG },
  { name: 'reports-list', path: '/reports' },
  { name: 'reports-month', path: `/reports/${new Date().toISOString().slice(0, 7)}?tag=Kestrel` },
  { name: 'report-week', path: '/report' },
  { name: 'notify', path: '/notifications' },
  { name: 'notify-add', path: '/notifications#add', before: clickSoon('Add an address'), until: DIALOG },
  { name: 'people', path: '/members' },
  { name: 'people-invite', path: '/members#invite', until: DIALOG },
  { name: 'links', path: '/share-links' },
  { name: 'links-new', path: '/share-links#new', until: dialogSays('Kestrel') },
  {
    name: 'links-made',
    path: '/share-links#new',
    before: inTurn(
      type('Name', 'Kestrel Flowers'),
      soon(
        `[...document.querySelectorAll('[role=dialog] label')].find((each) => each.textContent === '${FINE}')`,
        'found.click()',
      ),
      clickSoon('Make the link'),
    ),
    until: dialogSays('/shared#'),
  },
  { name: 'api-keys', path: '/keys' },
  {
    name: 'api-keys-made',
    path: '/keys',
    before: inTurn(type('Name', 'deploy'), clickSoon('Create')),
    until: text('only once'),
  },
  { name: 'audit', path: '/audit-log' },
  { name: 'the-plan', path: '/plan' },
  { name: 'own-account', path: '/account' },
  { name: 'own-security', path: '/account/security' },
  {
    name: 'own-qr-code',
    path: '/account/security',
    before: clickSoon('Set up an app'),
    until: `document.querySelector('[aria-label="QR code of the key"]')`,
  },
  { name: 'no-screen', path: '/nothing/here' },
  {
    name: 'person-menu',
    path: '/domains',
    before: `document.querySelector('[aria-label="Open the menu"]')?.click()`,
  },
]

/** Taken last, without a session. */
export const SIGNED_OUT: Screen[] = [
  { name: 'shared-ended', path: '/shared#pp_share_unknown', until: text('This link shows nothing') },
  { name: 'out-sign-in', path: '/sign-in' },
  { name: 'out-forgotten', path: '/forgotten-password' },
  { name: 'out-confirm', path: '/confirm#pp_em_unknown' },
]

/** What a running demo has printed. */
export type Demo = { api: string; email: string; password: string }

export function readDemo(file: string): Demo {
  const line = readFileSync(file, 'utf8').trim().split('\n').at(-1)!
  return JSON.parse(line) as Demo
}

const CALL = `async (method, path, body) => {
  const response = await fetch(path, {
    method,
    headers: body === undefined ? {} : { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(method + ' ' + path + ': ' + await response.text())
  return response.status === 204 ? null : response.json()
}`

export async function signIn(tab: Tab, { api, email, password }: Demo): Promise<void> {
  await tab.open(`${api}/sign-in`)
  await tab.run(`(${CALL})('POST', '/api/session', ${JSON.stringify({ email, password })})`)
}

/** Adds what the demo does not have, once: a template, an invitation, an address. Returns a new share link. */
export async function preparePortfolio(tab: Tab): Promise<string> {
  return tab.run<string>(`(async () => {
    const call = ${CALL}
    const { templates } = await call('GET', '/api/templates')
    if (!templates.some(({ name }) => name === 'Shops')) {
      await call('POST', '/api/templates', { name: 'Shops', settings: { fresh_seconds: 3600 } })
      await call('POST', '/api/invitations', { email: 'colleague@agency.example', role: 'editor', domains: null })
      await call('POST', '/api/keys', { name: 'agency scripts' })
    }
    const expires_at = new Date(Date.now() + 30 * 86_400_000).toISOString()
    const domains = ['${FINE}', '${UNREACHABLE}']
    const parts = ['overview', 'traffic', 'incidents', 'pages', 'report']
    return (await call('POST', '/api/share-links', { name: 'Kestrel Flowers', domains, parts, expires_at })).url
  })()`)
}
