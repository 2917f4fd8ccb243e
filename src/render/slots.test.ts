import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createSlots } from './renderer.ts'

const never = new AbortController().signal

it('so many at once, the rest in order of arrival', async () => {
  const slots = createSlots(2)
  const order: string[] = []
  const take = async (name: string) => {
    const giveBack = await slots.take(never)
    order.push(name)
    return giveBack!
  }
  const [first, second] = await Promise.all([take('a'), take('b')])
  const [third, fourth] = [take('c'), take('d')]
  await Promise.resolve()
  assert.equal(order.join(''), 'ab')
  first()
  // Said twice, given back once.
  first()
  await third
  assert.equal(order.join(''), 'abc')
  second()
  await fourth
  assert.equal(order.join(''), 'abcd')
})

it('who stops waiting takes no slot', async () => {
  const slots = createSlots(1)
  const giveBack = await slots.take(never)
  const leaving = new AbortController()
  const left = slots.take(leaving.signal)
  const next = slots.take(never)
  leaving.abort()
  assert.equal(await left, null)
  giveBack!()
  assert.notEqual(await next, null)
  assert.equal(await slots.take(AbortSignal.abort()), null)
})
