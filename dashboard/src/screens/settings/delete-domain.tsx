import { Button, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { domainsQuery, domainUrl } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import type { DomainWithSettings } from '../../api/types.ts'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { leaving } from '../../parts/leaving.ts'
import { notifyDone } from '../../parts/notifications.tsx'
import { Section } from '../../parts/page.tsx'
import { ROUTES } from '../../route-map.ts'

export function DeleteDomain({ domain: { custom_domain: name } }: { domain: DomainWithSettings }) {
  const [isAsking, setAsking] = useState(false)
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  return (
    <Section
      title="Delete this domain"
      lead="Including everything stored for it. To pause it instead, turn “Active” off under Site."
      actions={
        <Button color="red" variant="outline" onClick={() => setAsking(true)}>
          Delete
        </Button>
      }
    >
      {isAsking && (
        <ConfirmDialog
          title={`Delete ${name}?`}
          typed={name}
          label="Delete the domain"
          onClose={() => setAsking(false)}
          run={async () => {
            await request('DELETE', domainUrl(name))
            notifyDone(`${name} was deleted`)
            leaving.release()
            navigate(ROUTES.domains)
            queries.removeQueries({ queryKey: ['domains', name] })
            await queries.invalidateQueries({ queryKey: domainsQuery.queryKey, exact: true })
          }}
        >
          <Text size="sm" component="div">
            This takes effect immediately and cannot be undone:
            <ul>
              <li>
                All requests for this name, including those of people, get an error. Change the DNS first.
              </li>
              <li>Cached pages, certificate, settings and webhook tokens are deleted.</li>
              <li>Any account can add the name again.</li>
            </ul>
          </Text>
        </ConfirmDialog>
      )}
    </Section>
  )
}
