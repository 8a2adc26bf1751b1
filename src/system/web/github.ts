/** A repository on GitHub, over its REST API. Only `ownName` needs GraphQL, because a job's token has no user in REST. */
import { isOid } from '../../names.ts';
import type { Forge, ForgeComment, PullRequest } from '../../ports/web.ts';
import { field } from '../../session/text/parse-object.ts';
import { forgeApi, type ForgeApi } from './forge-api.ts';

export interface GithubOptions {
  /** The address of the REST API, and that of GraphQL. */
  api: string;
  graphql: string;
  /** `owner/name`. */
  repository: string;
  token: string;
  signal: AbortSignal;
}

export function githubForge({ api, graphql, repository, token, signal }: GithubOptions): Forge {
  const headers = {
    accept: 'application/vnd.github+json',
    authorization: `Bearer ${token}`,
    'x-github-api-version': '2022-11-28',
  };
  const forge = forgeApi({
    name: 'GitHub',
    headers,
    signal,
    variables: 'GITHUB_API_URL, GITHUB_GRAPHQL_URL and GITHUB_REPOSITORY',
    rights:
      'The token needs `pull-requests: write`. A pull request from a fork never gets it: write the comment from a `workflow_run` job.',
  });
  const at = (path: string) => `${api}/repos/${repository}/${path}`;
  const read = (value: unknown) => toComment(forge, value);
  const put = async (method: string, path: string, body: string) => read(await forge.call(method, at(path), { body }));

  return {
    noun: 'pull request',
    async listPullRequests(from) {
      const filter = from === undefined ? '' : `&head=${encodeURIComponent(from)}`;
      return (await forge.listAll(at(`pulls?state=open${filter}`))).map((one) => toPullRequest(forge, one));
    },
    readPullRequest: async (number) => toPullRequest(forge, await forge.call('GET', at(`pulls/${number}`))),
    listComments: async (number) => (await forge.listAll(at(`issues/${number}/comments`))).map(read),
    async ownName() {
      const answer = await forge.call('POST', graphql, { query: '{viewer{login}}' });
      return forge.textAt(answer, 'data', 'viewer', 'login');
    },
    createComment: (number, body) => put('POST', `issues/${number}/comments`, body),
    updateComment: (_number, id, body) => put('PATCH', `issues/comments/${id}`, body),
  };
}

function toPullRequest({ textAt, numberAt, strange }: ForgeApi, value: unknown): PullRequest {
  const [number, head] = [numberAt(value, 'number'), textAt(value, 'head', 'sha')];
  const repository = field(field(field(value, 'head'), 'repo'), 'full_name');
  if (!isOid(head)) throw strange('has no commit');
  return {
    number,
    label: `#${number}`,
    ref: `refs/pull/${number}/head`,
    isOpen: field(value, 'state') === 'open',
    repository: typeof repository === 'string' ? repository : null,
    branch: textAt(value, 'head', 'ref'),
    head,
    base: textAt(value, 'base', 'ref'),
  };
}

function toComment({ textAt, numberAt }: ForgeApi, value: unknown): ForgeComment {
  const [body, author] = [field(value, 'body'), field(field(value, 'user'), 'login')];
  return {
    id: numberAt(value, 'id'),
    // The author's account may be gone.
    author: typeof author === 'string' ? author : '',
    body: typeof body === 'string' ? body : '',
    url: textAt(value, 'html_url'),
  };
}
