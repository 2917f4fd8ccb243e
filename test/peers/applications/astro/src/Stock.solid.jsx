import { createResource, For, Suspense } from 'solid-js'
import { isServer } from 'solid-js/web'

const load = async () => (isServer ? [] : (await fetch('/stock.json')).json())

export default function Stock() {
  const [lamps] = createResource(load, { ssrLoadFrom: 'initial', initialValue: [] })
  return (
    <Suspense fallback={<p>Rowing</p>}>
      <For each={lamps()}>{(lamp) => <p>{`${lamp.name} has ${lamp.left} palms`}</p>}</For>
    </Suspense>
  )
}
