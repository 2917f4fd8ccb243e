import { useMutation, useQueryClient } from '@tanstack/react-query'
import { domainQuery, domainUrl, integrationsQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import type { DomainWithSettings } from '../../api/types.ts'
import { notifyFailed } from '../../parts/notifications.tsx'

type Way = DomainWithSettings['settings']['way']

/** By which way crawlers come to a domain: the saved one, or the one that is being saved, and how to choose another. */
export function useWay({ custom_domain: name, settings }: DomainWithSettings) {
  const queries = useQueryClient()
  const save = useMutation({
    mutationFn: (way: Way) =>
      request<{ domain: DomainWithSettings }>('PUT', domainUrl(name), { body: { settings: { way } } }),
    onSuccess: async ({ domain }) => {
      queries.setQueryData(domainQuery(name).queryKey, domain)
      await Promise.all([
        queries.invalidateQueries({ queryKey: integrationsQuery.queryKey }),
        queries.invalidateQueries({ queryKey: ['portfolio'] }),
      ])
    },
    onError: (error) => notifyFailed('The way was not saved', error),
  })
  return { way: save.isPending ? save.variables : settings.way, isBusy: save.isPending, choose: save.mutate }
}
