import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { silentLog } from '@prepaint/runtime/log.ts'
import { SelectorCheck } from '@prepaint/service/sites/checked-rules.ts'
import { assertAnswer, openApi } from '../../../../test/support/api.ts'
import { openRenderer } from '../../../../test/support/renderer.ts'

const NAME = 'shop.example.com'
const { renderer } = await openRenderer()
const asked: (readonly string[])[] = []
const selectors = new SelectorCheck((list) => {
  asked.push(list)
  return renderer.checkSelectors(list)
}, silentLog())
const api = await openApi({ selectors })
const owner = await api.account()
await api.domain(owner, NAME)

const put = (...rules: object[]) =>
  api.call('PUT', `/api/domains/${NAME}`, { key: owner.key, body: { settings: { rules } } })
const tryRules = (...rules: object[]) =>
  api.post(`/api/domains/${NAME}/rules/try`, owner.key, { rules, paths: ['/a'] })
const removing = (...remove: string[]) => ({ path: '/a', change: { remove } })

describe('selectors of rules, by the word of the browser', () => {
  const good = [':is(.a, :unknown)', '.x:where(.a,)', '[href="x', 'p:is(.a', 'a:-webkit-any-link']
  for (const selector of good) {
    it(`200: ${selector} is saved, as a browser takes it`, async () => {
      const { status, body } = await put({ path: '/a', render: { wait_for: selector } }, removing(selector))
      assert.equal(status, 200)
      const { settings } = body['domain'] as { settings: { rules: { render?: object }[] } }
      assert.deepEqual(settings.rules[0]?.render, { wait_for: selector })
    })
  }

  for (const selector of ['video:playing', ':paused', ':buffering', 'a[x~=y s]', '..a']) {
    it(`400: ${selector} is refused with its place, and nothing is saved`, async () => {
      assert.equal((await put(removing('#before'))).status, 200)
      const refused = await put(removing('a'), { path: '/b', render: { wait_for: selector } })
      assertAnswer(refused, 400, /^settings\.rules\[1\]\.render\.wait_for is not a CSS selector|has /)
      const [problem] = refused.body['problems'] as { path: unknown }[]
      assert.deepEqual(problem?.path, ['settings', 'rules', 1, 'render', 'wait_for'])
      const { body } = await api.get(`/api/domains/${NAME}`, owner.key)
      assert.match(JSON.stringify(body), /#before/)
      assertAnswer(await tryRules(removing('a', selector)), 400, /^rules\[0\]\.change\.remove\[1\] /)
    })
  }

  it('the browser is asked once for all selectors of a save, and not for a body that is refused anyhow', async () => {
    asked.length = 0
    await put(removing('a', 'b'), removing('c'))
    await put(removing('d'), { path: '/b', action: 'fly' })
    await put(removing('x'.repeat(501)))
    await put(...Array.from({ length: 201 }, () => removing('e')))
    await put({ path: '/a', action: 'pass' })
    assert.deepEqual(asked, [['a', 'b', 'c']])
  })
})
