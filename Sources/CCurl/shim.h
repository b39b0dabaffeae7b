#pragma once
#include <curl/curl.h>

// curl_easy_setopt takes any type of value, which Swift cannot call: one function for each type.

static inline CURLcode roost_curl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode roost_curl_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode roost_curl_set_list(CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode roost_curl_set_data(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode roost_curl_set_transfer(
    CURL *handle, CURLoption option, size_t (*value)(char *, size_t, size_t, void *)) {
    return curl_easy_setopt(handle, option, value);
}

/// The last code that the server answered with; 0 without any.
static inline long roost_curl_response_code(CURL *handle) {
    long code = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &code);
    return code;
}

static inline CURLcode roost_curl_prepare(void) { return curl_global_init(CURL_GLOBAL_DEFAULT); }
