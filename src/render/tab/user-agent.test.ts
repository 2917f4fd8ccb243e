import assert from 'node:assert/strict'
import { it } from 'node:test'
import { hintsOf } from './user-agent.ts'

const TAIL = 'AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.7390.54'
for (const [userAgent, expected] of [
  [`Mozilla/5.0 (X11; Linux x86_64) ${TAIL} Safari/537.36`, ['Linux', '', '', false, 'Chromium Not.A/Brand']],
  [
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${TAIL} Safari/537.36`,
    ['Windows', '10.0', '', false, 'Chromium Not.A/Brand'],
  ],
  [
    `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${TAIL} Safari/537.36 OPR/120.0`,
    ['macOS', '10.15.7', '', false, 'Chromium Not.A/Brand Opera'],
  ],
  [
    `Mozilla/5.0 (Linux; Android 13; SM-S911B Build/TP1A.220624.014) ${TAIL} Mobile Safari/537.36`,
    ['Android', '13', 'SM-S911B', true, 'Chromium Not.A/Brand'],
  ],
  [
    `Mozilla/5.0 (Linux; Android 10; K) ${TAIL} Safari/537.36`,
    ['Android', '10', '', false, 'Chromium Not.A/Brand'],
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1',
    null,
  ],
  ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', null],
  ['Shop/1.0', null],
] as const) {
  it(userAgent.slice(0, 90), () => {
    const { userAgentMetadata: hints } = hintsOf(userAgent)
    const brands = hints?.brands?.map(({ brand }) => brand).join(' ')
    const said = hints && [hints.platform, hints.platformVersion, hints.model, hints.mobile, brands]
    assert.deepEqual(said ?? null, expected)
  })
}
