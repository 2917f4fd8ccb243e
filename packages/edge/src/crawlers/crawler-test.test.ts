import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CRAWLER_AGENTS, PEOPLE_AGENTS, TOOL_AGENTS } from '../../../../test/support/user-agents.ts'
import { CrawlerTest, type OwnCrawlers, ownCrawlers } from './crawler-test.ts'

const crawlerTest = new CrawlerTest()
const categoryOf = (userAgent: string | undefined, own?: OwnCrawlers | null) =>
  crawlerTest.categoryOf(userAgent, own)

// Proves decided "Crawler detection"
it('user agents of crawlers, people and tools are told apart', () => {
  const none = { people: PEOPLE_AGENTS, tools: TOOL_AGENTS }
  for (const [name, agents] of Object.entries({ ...CRAWLER_AGENTS, ...none })) {
    const category = name in none ? null : name
    for (const agent of agents) assert.equal(categoryOf(agent), category, agent)
  }
  const all = [...Object.values(CRAWLER_AGENTS).flat(), ...PEOPLE_AGENTS, ...TOOL_AGENTS]
  assert.equal(new Set(all).size, all.length)
})

describe('a person whose user agent holds a word of crawlers', () => {
  const CHROME = 'AppleWebKit/537.36 (KHTML, like Gecko)'
  const phone = (device: string) =>
    `Mozilla/5.0 (Linux; ${device}) ${CHROME} Chrome/121.0.0.0 Mobile Safari/537.36`
  const rows: Record<string, string> = {
    'a phone named bot': phone('Android 7.0; M bot 60 Build/NRD90M'),
    'a phone named bot, without a build': phone('Android 6.0; VR BOT 552 PLUS'),
    'a tablet with a name in parentheses': phone('Android 10; Crawl Tab (Spider) Build/QP1A; wv'),
    'an old phone with its language': phone('U; Android 4.2.2; it-it; S222 Build/CUBOT'),
    'a browser of a search engine': `${phone('Android 9; X2 Build/PPR1; wv')} SogouMSE,SogouMobileBrowser/6.1.54`,
    'an application of a search engine': `${phone('Android 8.1; Y15')} SCore/405 SogouSearch Android1.0 version3.0 AppVersion/7966`,
    'a browser for desktops': `Mozilla/5.0 (Windows NT 6.1; WOW64) ${CHROME} Chrome/49.0 Safari/537.36 SE 2.X MetaSr 1.0 SogouExplorer`,
    'an application that loads a film': 'WhatsApp/2.17.427 Android/7.0 Device/motorola-Moto_C_Plus',
    'a browser before its release, by its maker': 'Opera/7.60 preview 4 (Mac OS X 10.3)',
    'an old browser that shows a preview':
      'Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1; SV1; Antenna Preview Window)',
    'a browser with a toolbar that names its site':
      'Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1; Acme Toolbar (+http://www.acme.example))',
    'a browser before its release':
      'Safari%20Technology%20Preview/15610.1.16.3 CFNetwork/1126 Darwin/19.5.0 (x86_64)',
  }
  for (const [name, userAgent] of Object.entries(rows))
    it(`${name} is no crawler`, () => assert.equal(categoryOf(userAgent), null, userAgent))

  it('a crawler that names itself beside a phone is one', () => {
    for (const device of [
      'Android 8.0; Pixel 2 Build/OPD3; Storebot-Google/1.0',
      'Android 7.0; Heronbot/2.0; +https://heron.example/bot',
      'Android 7.0; compatible; Heron Spider',
    ])
      assert.notEqual(categoryOf(phone(device)), null, device)
    assert.equal(categoryOf(`${phone('Android 7.0; M bot 60')} (compatible; Heronbot/2.0)`), 'other')
  })
})

it('crawlers of the table that no list of bots knows have their category', () => {
  const rows: Record<string, string> = {
    'XING-contenttabreceiver/2.0': 'social',
    'Mozilla/5.0 (compatible; Yahoo Link Preview; https://help.yahoo.com/kb/mail/yahoo-link-preview-SLN23615.html)':
      'social',
    'YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html': 'other',
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36; Amazon-Quick-on-Behalf-of-77': 'ai-user',
    'Owler/0.1 (https://ows.eu/owler)': 'search',
    'Lightpanda/0.2': 'ai-user',
    'Sogou Pic Spider/3.0(+http://www.sogou.com/docs/help/webmasters.htm#07)': 'search',
  }
  for (const [userAgent, category] of Object.entries(rows))
    assert.equal(categoryOf(userAgent), category, userAgent)
})

it('a listed tool that calls itself a crawler is one; an uptime monitor is none', () => {
  for (const crawler of [
    'CapterraBot/1.0',
    'Mozilla/5.0 (compatible; Heronlybot/2.0)',
    'SBL-BOT (http://sbl.net)',
  ])
    assert.equal(categoryOf(crawler), 'other', crawler)
  for (const tool of [
    'Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)',
    'crawler4j (https://github.com/yasserg/crawler4j/)',
  ])
    assert.equal(categoryOf(tool), null, tool)
})

describe('a user agent in the lists of a domain', () => {
  const own = ownCrawlers({
    add: [
      { pattern: 'MyShop/', category: 'other' },
      { pattern: 'acme*tester', category: 'social' },
      { pattern: 'GPTBot', category: 'search' },
    ],
    remove: ['ahrefs', 'MyShop/9'],
  })

  it('is decided by the lists of the domain before everything else, in upper or lower case', () => {
    const rows: [string, string | null][] = [
      ['MyShop/3.2.1', 'other'],
      ['myshop/3.2.1', 'other'],
      ['MyShop/9.0', null],
      ['Acme Link-Tester/2', 'social'],
      ['Tester of acme', null],
      [CRAWLER_AGENTS['ai-training'][0]!, 'search'],
      [CRAWLER_AGENTS.seo[0]!, null],
    ]
    // The second time from memory.
    for (const [agent, category] of [...rows, ...rows]) assert.equal(categoryOf(agent, own), category, agent)
  })

  it('is decided by the first 512 characters of the user agent', () => {
    const padded = (length: number) => `${'x'.repeat(length)}MyShop/1`
    assert.equal(categoryOf(padded(505), own), 'other')
    assert.equal(categoryOf(padded(506), own), null)
  })
})

it('a user agent is read up to its 512th character, and an empty one is no crawler', () => {
  assert.deepEqual([categoryOf(''), categoryOf(undefined)], [null, null])
  const padded = (length: number) => `${PEOPLE_AGENTS[0]!.padEnd(length, ' x')} Twitterbot/1.0`
  assert.equal(categoryOf(padded(512 - ' Twitterbot/1.0'.length)), 'social')
  assert.equal(categoryOf(padded(512)), null)
})

describe('a client that is neither a crawler nor a browser', () => {
  const rows: Record<string, string | null> = {
    'curl/8.5.0': 'tool curl',
    'python-requests/2.31.0': 'tool python-requests',
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 HeadlessChrome/140.0.0.0 Safari/537.36':
      'tool HeadlessChrome',
    'Acme-Reader/2.1': 'unknown Acme-Reader',
    '': 'unknown no user agent',
    [PEOPLE_AGENTS[0]!]: null,
    [CRAWLER_AGENTS.seo[0]!]: null,
  }
  for (const [userAgent, name] of Object.entries(rows))
    it(`is named ${name} for "${userAgent.slice(0, 40)}"`, () => {
      const found = crawlerTest.automaticOf(userAgent)
      assert.equal(found && `${found.kind} ${found.name}`, name)
    })

  it('is not named where the owner says what it is', () => {
    const own = ownCrawlers({ add: [{ pattern: 'curl', category: 'seo' }], remove: ['wget'] })
    assert.equal(crawlerTest.automaticOf('curl/8', own), null)
    assert.equal(crawlerTest.automaticOf('Wget/1.21', own), null)
    assert.equal(crawlerTest.automaticOf('python-requests/2', own)?.kind, 'tool')
  })
})
