import { Alert, Button, Group, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { domainUrl } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import type { DomainWithSettings, Settings } from '../../api/types.ts'
import { counted } from '../../format.ts'
import { notifyDone, notifyFailed } from '../../parts/notifications.tsx'

/**
 * Offers what new domains have: 404 for pages that do not exist although the site answers 200. Domains of earlier
 * versions let the site answer.
 */
export function MissingPages({ domain, visits }: { domain: DomainWithSettings; visits: number }) {
  const { custom_domain: name, settings } = domain
  const queries = useQueryClient()
  const save = async (choice: Settings['soft_404']) => {
    await request('PUT', domainUrl(name), { body: { settings: { soft_404: choice } } })
    await queries.invalidateQueries({ queryKey: ['domains', name] })
  }
  const answer = useMutation({
    mutationFn: () => save('answer'),
    onSuccess: () => {
      const undo = () => void save('refuse').catch((error) => notifyFailed('The setting stays', error))
      notifyDone('Crawlers get 404 for pages that do not exist', undo)
    },
    onError: (error) => notifyFailed('Nothing was saved', error),
  })
  if (settings.soft_404 !== 'refuse' || visits === 0) return null
  return (
    <Alert color="yellow" title="Crawlers are told that missing pages exist">
      <Group justify="space-between" gap="sm">
        <Text size="sm" flex={1} miw={220}>
          {counted(visits, 'visit was', 'visits were')} for pages that do not exist, but which your site
          answers with status 200. Search engines may list them. Sites that are added now answer 404 for such
          pages.
        </Text>
        <Button size="xs" variant="default" loading={answer.isPending} onClick={() => answer.mutate()}>
          Answer 404
        </Button>
      </Group>
    </Alert>
  )
}
