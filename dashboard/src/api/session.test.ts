import assert from 'node:assert/strict'
import { it } from 'node:test'
import { QueryClient } from '@tanstack/react-query'
import { sessionQuery, switchAccount } from './session.ts'
import { accountOfTab } from './tab-account.ts'
import type { SignedInView } from './types.ts'

const person = { id: 1, email: '', name: null, locale: null, is_operator: false, second_factor: false }
const into = (id: number) => ({ account: { id }, person }) as SignedInView

for (const [status, why] of [
  [403, 'is suspended'],
  [404, 'is no longer the person’s'],
] as const) {
  it(`a tab whose account ${why} shows another one (${status})`, async (t) => {
    const queries = new QueryClient()
    switchAccount(queries, into(7))
    const named: (string | null)[] = []
    t.mock.method(globalThis, 'fetch', async (_path: string, { headers }: RequestInit) => {
      const name = new Headers(headers).get('x-prepaint-account')
      named.push(name)
      if (name === '7') return Response.json({ error: 'gone' }, { status })
      return Response.json(into(8))
    })
    const session = await queries.fetchQuery({ ...sessionQuery, staleTime: 0 })
    assert.equal(session?.account?.id, 8)
    assert.deepEqual(named, ['7', null])
    assert.equal(accountOfTab.get(), 8)
    queries.clear()
  })
}
