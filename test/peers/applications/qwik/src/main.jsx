import '@builder.io/qwik/qwikloader.js'
import { $, component$, Resource, render, useResource$, useSignal, useVisibleTask$ } from '@builder.io/qwik'

const Stock = component$(() => {
  const lamps = useResource$(async () => (await fetch('/stock.json')).json())
  return (
    <Resource
      value={lamps}
      onPending={() => <p>Sorting</p>}
      onResolved={(all) => (
        <ul>
          {all.map((lamp) => (
            <li key={lamp.name}>
              {lamp.name} in drawer {lamp.left}
            </li>
          ))}
        </ul>
      )}
    />
  )
})

const App = component$(() => {
  const seconds = useSignal(0)
  const open = useSignal(false)
  useVisibleTask$(() => {
    seconds.value = 42
  })
  return (
    <main>
      <h1>Button drawer</h1>
      <p>Sorted in {seconds.value} seconds</p>
      <button type="button" onClick$={$(() => (open.value = !open.value))}>
        Open
      </button>
      <Stock />
    </main>
  )
})

render(document.getElementById('app'), <App />)
