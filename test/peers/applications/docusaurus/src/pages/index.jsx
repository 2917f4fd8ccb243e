import Layout from '@theme/Layout'
import { useEffect, useState } from 'react'

export default function Home() {
  const [ships, setShips] = useState([])
  useEffect(() => {
    fetch('/stock.json')
      .then((answer) => answer.json())
      .then(setShips)
  }, [])
  return (
    <Layout title="Arrivals">
      <h1>Arrivals</h1>
      {ships.length === 0 ? (
        <p>Loading</p>
      ) : (
        ships.map(({ name, left }) => <p key={name}>{`${name}, berth ${left}`}</p>)
      )}
    </Layout>
  )
}
