import assert from 'node:assert/strict'
import { it } from 'node:test'

import { until } from '../../test/support/condition.ts'
import { startTestGateway } from '../../test/support/gateway.ts'

it('an answer is delivered when its last byte has gone, not before', async (t) => {
  let finish = () => {}
  const { own, site } = await startTestGateway(t, {
    origin(request, response) {
      if (request.url === '/at-once') return void response.end('all')
      response.write('half')
      finish = () => response.end()
    },
  })
  const url = 'https://shop.example/slow?a=b'
  const answer = own('/slow?a=b')
  await until('it is asked for', () => !site.isDelivered(url))
  assert.equal(site.isDelivered(`${url}#part`), false)
  await own('/at-once')
  assert.equal(site.isDelivered(url), false)
  finish()
  assert.equal((await answer).body, 'half')
  await until('it is delivered', () => site.isDelivered(url))
  assert.equal(site.isDelivered('https://shop.example/at-once'), true)
})

it('the same address asked for twice is delivered when both are', async (t) => {
  const finish: (() => void)[] = []
  const { own, site } = await startTestGateway(t, {
    origin: (_request, response) => void finish.push(() => response.end('x')),
  })
  const answers = [own('/slow'), own('/slow')]
  await until('both are asked for', () => finish.length === 2)
  finish[0]!()
  await Promise.race(answers)
  assert.equal(site.isDelivered('https://shop.example/slow'), false)
  finish[1]!()
  await Promise.all(answers)
  await until('both are delivered', () => site.isDelivered('https://shop.example/slow'))
})

it('of other hosts, and of plain http, nothing is known', async (t) => {
  const { site } = await startTestGateway(t)
  for (const url of [
    'https://other.example/x',
    'http://shop.example/x',
    'https://shop.example.evil.example/x',
  ])
    assert.equal(site.isDelivered(url), false, url)
})
