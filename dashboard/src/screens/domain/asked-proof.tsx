import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { proofQuery } from '../../api/queries.ts'
import { Loading } from '../../parts/states.tsx'

const ProofSection = lazy(() => import('./proof.tsx'))

/** Shows what proves the name, only while that is asked for or lost. */
export function AskedProof({ domain }: { domain: string }) {
  const { data: proof } = useQuery(proofQuery(domain))
  if (proof === undefined || proof.state === 'not-asked' || proof.state === 'proven') return null
  return (
    <Suspense fallback={<Loading rows={3} />}>
      <ProofSection domain={domain} proof={proof} />
    </Suspense>
  )
}
