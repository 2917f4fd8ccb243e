import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { loadConfig } from './config.ts'

const ignored = (env: Record<string, string>) => loadConfig(env).ignored.map(({ setting }) => setting)

describe('settings that have no effect', () => {
  it('none by default, and none of those that are empty', () => {
    assert.deepEqual(ignored({}), [])
    assert.deepEqual(ignored({ PREPAINT_ACME_EMAIL: '', PREPAINT_CRAWLER_RANGES_DIR: '' }), [])
  })

  it('ranges of crawlers without PREPAINT_VERIFY_CRAWLERS=1', () => {
    const ranges = { PREPAINT_CRAWLER_RANGES_DIR: 'ranges' }
    assert.deepEqual(loadConfig(ranges).ignored, [
      {
        setting: 'PREPAINT_CRAWLER_RANGES_DIR',
        why: 'crawlers are verified only with PREPAINT_VERIFY_CRAWLERS=1',
      },
    ])
    assert.deepEqual(ignored({ ...ranges, PREPAINT_VERIFY_CRAWLERS: '0' }), ['PREPAINT_CRAWLER_RANGES_DIR'])
    assert.deepEqual(ignored({ ...ranges, PREPAINT_VERIFY_CRAWLERS: '1' }), [])
  })

  it('what is said of orders to a CA, without PREPAINT_ACME_DIRECTORY', () => {
    const acme = {
      PREPAINT_ACME_EMAIL: 'me@example.com',
      PREPAINT_ACME_SELF_CHECK: '0',
      PREPAINT_ACME_ORDERS_PER_HOUR: '10',
    }
    assert.deepEqual(ignored(acme), Object.keys(acme))
    for (const [name, value] of Object.entries(acme)) assert.deepEqual(ignored({ [name]: value }), [name])
    assert.deepEqual(ignored({ ...acme, PREPAINT_ACME_DIRECTORY: 'https://ca.example/dir' }), [])
  })

  it('PREPAINT_ACCESS_LOG where its lines are below the level of the log', () => {
    const of = (level: string, accessLog = 'all') =>
      ignored({ PREPAINT_ACCESS_LOG: accessLog, PREPAINT_LOG_LEVEL: level })
    for (const level of ['trace', 'debug', 'info']) assert.deepEqual(of(level), [], level)
    for (const level of ['warn', 'error', 'fatal', 'silent']) {
      assert.deepEqual(of(level), ['PREPAINT_ACCESS_LOG'], level)
    }
    assert.deepEqual(of('warn', 'none'), [], 'what was wanted is so')
    assert.deepEqual(ignored({ PREPAINT_LOG_LEVEL: 'warn' }), [])
  })

  it('a node is told only of what its roles would use: a fleet may share one environment', () => {
    const env = {
      PREPAINT_ACCESS_LOG: 'all',
      PREPAINT_ACME_EMAIL: 'me@example.com',
      PREPAINT_CRAWLER_RANGES_DIR: 'ranges',
      PREPAINT_LOG_LEVEL: 'warn',
    }
    const of = (roles: string) => ignored({ ...env, PREPAINT_ROLES: roles })
    const [ranges, email, accessLog] = ignored(env)
    assert.deepEqual(of('render'), [])
    assert.deepEqual(of('api,render'), [ranges, accessLog])
    assert.deepEqual(of('edge'), [ranges, email, accessLog])
  })
})
