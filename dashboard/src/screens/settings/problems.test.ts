import assert from 'node:assert/strict'
import { it } from 'node:test'
import { z } from 'zod'
import { firstProblem } from '../../../../src/api/http/validation.ts'
import { domainSettingsPatchSchema } from '../../../../src/sites/domain-settings.ts'
import { problemOfServer } from './problems.ts'

const body = z.object({ settings: domainSettingsPatchSchema })
const answerTo = (settings: object) => firstProblem(body, { settings }) ?? assert.fail('the server takes it')

it('an error of the server is shown at its field', () => {
  for (const [settings, field] of [
    [{ fresh_seconds: -1 }, 'freshHours'],
    [{ stale_seconds: 'x' }, 'staleHours'],
    [{ keep_seconds: 1e12 }, 'keepDays'],
    [{ crawler_wait_seconds: 0 }, 'crawlerWaitSeconds'],
    [{ refresh_ahead_percent: 101 }, 'aheadPercent'],
    [{ query: 'some' }, 'queryNames'],
    [
      {
        rules: [
          { path: '/a', action: 'pass' },
          { path: 'b', action: 'pass' },
        ],
      },
      'rules.1.path',
    ],
    [{ rules: [{ path: '/a' }] }, 'rules.0.path'],
    [{ rules: [{ path: '/a', render: { wait_for: '..a' } }] }, 'rules.0.more'],
    [{ rules: [{ path: '/a', fresh_seconds: -1 }] }, 'rules.0.freshHours'],
    [{ crawlers: { add: [{ pattern: 'x', category: 'ai' }] } }, 'crawlers.added.0.pattern'],
    [{ crawlers: { remove: ['abc', 'x'] } }, 'crawlers.removed'],
    [{ render: { user_agent: 'ü' } }, 'visitor.userAgent'],
    [{ render: { viewport: { width: 1, height: 500 } } }, 'visitor.width'],
    [{ render: { viewport: { width: 500, height: 1 } } }, 'visitor.height'],
    [{ render: { locale: '-' } }, 'visitor.locale'],
    [{ render: { time_zone: 'Mars/Olympus' } }, 'visitor.timeZone'],
  ] as const) {
    const found = problemOfServer(answerTo(settings))
    assert.equal(found?.field, field)
    assert(found.problem.length > 3)
  }
  assert.deepEqual(problemOfServer('Invalid origin URL: must name a host'), {
    field: 'origin',
    problem: 'must name a host',
  })
  for (const other of ['Sign in first', 'Internal error', 'Domain not found']) {
    assert.equal(problemOfServer(other), null)
  }
})
