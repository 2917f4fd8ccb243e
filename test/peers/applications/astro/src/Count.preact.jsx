import { useEffect, useState } from 'preact/hooks'

export default function Count({ name }) {
  const [isAwake, setAwake] = useState(false)
  useEffect(() => setAwake(true), [])
  return <p>{`The island ${name} is ${isAwake ? 'awake' : 'asleep'}`}</p>
}
