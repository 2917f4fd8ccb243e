import { Button, Group, Text, TextInput } from '@mantine/core'
import type { IntegrationCheck } from '@prepaint/contract/api/fronts.ts'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { domainUrl, integrationQuery, integrationsQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { notifyFailed } from '../../parts/notifications.tsx'

/** Asks the site as a crawler does, and says how the request arrived. */
export function CheckNow({ domain }: { domain: string }) {
  const queries = useQueryClient()
  const [via, setVia] = useState('')
  const check = useMutation({
    mutationFn: () => {
      const body = { via: via.trim() || undefined }
      return request<{ check: IntegrationCheck }>('POST', `${domainUrl(domain)}/integration/check`, { body })
    },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: integrationQuery(domain).queryKey })
      await queries.invalidateQueries({ queryKey: integrationsQuery.queryKey })
    },
    onError: (error) => notifyFailed('The site could not be checked', error),
  })
  return (
    <Group gap="sm" align="end">
      <TextInput
        label="Ask at this address"
        description="Empty: where the name leads"
        placeholder="http://203.0.113.7"
        size="xs"
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        value={via}
        onChange={(event) => setVia(event.currentTarget.value)}
      />
      <Button variant="default" size="xs" loading={check.isPending} onClick={() => check.mutate()}>
        Check now
      </Button>
      <Text size="sm" role="status" className={check.data === undefined ? 'quiet' : 'break'}>
        {check.data === undefined
          ? 'Asks your site for its home page, as Googlebot does.'
          : checkWords(check.data.check)}
      </Text>
    </Group>
  )
}

const REASONS: Record<NonNullable<IntegrationCheck['reason']>, string> = {
  'answer-lost':
    'The request arrived, but another answer came back: there is a cache between, or the front did not wait.',
  refused: 'The request arrived and was refused: check the token in the front’s configuration.',
  'not-forwarded': 'The site answered itself and sent nothing here.',
  unresolvable: 'The name has no address in the DNS.',
  'refused-address': 'The name leads to an address that is not public.',
  unreachable: 'The site does not accept connections.',
  tls: 'The certificate of the site is not good for its name.',
  'timed-out': 'The site did not answer in 10 seconds.',
  redirect: 'The site redirects to another place.',
}

function checkWords({ reason, detail }: IntegrationCheck): string {
  if (reason === null) return 'A request as a crawler arrived here, and our page came back.'
  return detail === null ? REASONS[reason] : `${REASONS[reason]} (${detail})`
}
