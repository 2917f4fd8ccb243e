import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'
import { KNOWN_CRAWLERS } from '@prepaint/contract/crawlers/known-crawlers.ts'
import { CRAWLERS } from '@prepaint/middleware'
import { CRAWLER_AGENTS, PEOPLE_AGENTS, TOOL_AGENTS } from '../../test/support/user-agents.ts'

/** The pattern of a configuration, as its program reads it. */
function patternIn(file: string, place: RegExp): RegExp {
  const text = readFileSync(path.join(import.meta.dirname, file), 'utf8')
  return new RegExp(place.exec(text)?.[1] ?? 'no pattern', 'i')
}

const inNginx = patternIn('nginx.conf', /map \$http_user_agent[^}]*?"~\*([^"]+)" 1;/)
const inHaproxy = patternIn('haproxy.cfg', /req\.hdr\(User-Agent\) -m reg -i '([^']+)'/)
const inVarnish = patternIn('varnish.vcl', /req\.http\.User-Agent ~ \{"\(\?i\)(.+?)"\}/)
const inApache = patternIn('apache.conf', /%\{HTTP_USER_AGENT\} "([^"]+)" \[NC\]/)
const inCloudFront = patternIn('cloudfront.js', /CRAWLER =\s+\/(.+)\/i\n/)
const inDjango = patternIn('django_prepaint.py', /CRAWLER = re\.compile\(\s*r"""(.+?)"""/)
const inRack = patternIn('rack_prepaint.rb', /CRAWLER = %r\{(.+)\}i\n/)
const inCaddy = patternIn('Caddyfile', /header_regexp User-Agent `\(\?i\)([^`]+)`/)

const fronts: Record<string, (agent: string) => boolean> = {
  'nginx.conf': (agent) => inNginx.test(agent),
  'haproxy.cfg': (agent) => inHaproxy.test(agent),
  'varnish.vcl': (agent) => inVarnish.test(agent),
  'apache.conf': (agent) => inApache.test(agent),
  'cloudfront.js': (agent) => inCloudFront.test(agent),
  'django_prepaint.py': (agent) => inDjango.test(agent),
  'rack_prepaint.rb': (agent) => inRack.test(agent),
  // Its regular expressions look neither ahead nor back.
  Caddyfile: (agent) => inCaddy.test(agent),
  '@prepaint/middleware': (agent) => CRAWLERS.test(agent),
}

for (const [name, isCrawler] of Object.entries(fronts)) {
  describe(`${name} takes for crawlers`, () => {
    it('every one of our list, by its name alone and as it comes', () => {
      const named = KNOWN_CRAWLERS.map(({ pattern }) =>
        pattern.startsWith('^') ? `${pattern.slice(1)}1.0` : `Mozilla/5.0 (compatible; ${pattern}/1.0)`,
      )
      const missed = [...named, ...Object.values(CRAWLER_AGENTS).flat()].filter((agent) => !isCrawler(agent))
      assert.deepEqual(missed, [])
    })

    it('nobody of those who are people, also in apps that have crawlers too', () =>
      assert.deepEqual(PEOPLE_AGENTS.filter(isCrawler), []))

    it('no browser that measures', () => {
      const measuring = TOOL_AGENTS.filter((agent) => /^Mozilla\/5\.0 \(.*Chrome/.test(agent))
      assert(measuring.length >= 3)
      assert.deepEqual(measuring.filter(isCrawler), [])
    })
  })
}
